import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0017_gains'),
    ]

    operations = [
        migrations.CreateModel(
            name='HubKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('keyid', models.CharField(max_length=64, unique=True, validators=[django.core.validators.RegexValidator('^[0-9a-f]{64}$')])),
                ('public_pem', models.TextField()),
                ('valid_from', models.DateTimeField()),
                ('valid_until', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('reason', models.CharField(blank=True, max_length=500)),
                ('succession', models.JSONField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name='build',
            name='envelope',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='build',
            name='signed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='record',
            name='envelope',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='record',
            name='signed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='build',
            name='signed_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.hubkey'),
        ),
        migrations.AddField(
            model_name='record',
            name='signed_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.hubkey'),
        ),
        migrations.AddIndex(
            model_name='build',
            index=models.Index(condition=models.Q(('signed_at__isnull', True)), fields=['id'], name='build_unsigned'),
        ),
        migrations.AddIndex(
            model_name='record',
            index=models.Index(condition=models.Q(('signed_at__isnull', True)), fields=['id'], name='record_unsigned'),
        ),
    ]
