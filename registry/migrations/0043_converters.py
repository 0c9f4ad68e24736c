from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0042_added_by'),
    ]

    operations = [
        migrations.CreateModel(
            name='Converter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identity', models.CharField(max_length=300, unique=True)),
                ('seen_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
    ]
