"""Adds imported profiles: what others measured, matched to a network."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0036_topology'),
    ]

    operations = [
        migrations.CreateModel(
            name='ImportedProfile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uuid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('format', models.CharField(max_length=16)),
                ('tool_version', models.CharField(blank=True, max_length=100)),
                ('target', models.CharField(max_length=200)),
                ('environment', models.TextField(blank=True)),
                ('method', models.CharField(max_length=200)),
                ('total_ns', models.BigIntegerField()),
                ('is_total_stated', models.BooleanField()),
                ('is_ordered', models.BooleanField()),
                ('notes', models.JSONField(default=list)),
                ('folded', models.JSONField(default=list)),
                ('fit', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='imported_profiles', to=settings.AUTH_USER_MODEL)),
                ('blob', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='imported_profiles', to='registry.blob')),
                ('details', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='details_of_imported_profiles', to='registry.blob')),
                ('graph', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='imported_profiles', to='registry.graph')),
            ],
        ),
        migrations.CreateModel(
            name='ImportedCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.IntegerField()),
                ('name', models.CharField(max_length=500)),
                ('operator', models.CharField(blank=True, max_length=200)),
                ('median_ns', models.BigIntegerField()),
                ('mad_ns', models.BigIntegerField()),
                ('runs', models.IntegerField()),
                ('precision', models.CharField(blank=True, max_length=16)),
                ('implementation', models.CharField(blank=True, max_length=200)),
                ('nodes', models.JSONField(default=list)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('profile', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='call_sites', to='registry.importedprofile')),
            ],
        ),
        migrations.AddConstraint(
            model_name='importedprofile',
            constraint=models.UniqueConstraint(fields=('graph', 'blob', 'target'), name='imported_profile_unique'),
        ),
        migrations.AddConstraint(
            model_name='importedcall',
            constraint=models.UniqueConstraint(fields=('profile', 'sequence'), name='imported_call_order'),
        ),
    ]
