from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0016_data_tables'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='build',
            index=models.Index(condition=models.Q(('is_baseline', False), ('withdrawn_at__isnull', True)), fields=['tolerance', 'ratio', 'id'], name='build_gain'),
        ),
        migrations.AddIndex(
            model_name='build',
            index=models.Index(condition=models.Q(('is_baseline', False), ('withdrawn_at__isnull', True)), fields=['target', 'tolerance', 'ratio', 'id'], name='build_gain_of_target'),
        ),
    ]
