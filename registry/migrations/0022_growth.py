"""Stores what lists and periodic tasks read, in columns and indexes that do not grow with use."""

import django.db.models.expressions
import django.db.models.functions.comparison
import django.db.models.functions.text
import django.utils.timezone
from django.db import migrations, models

_DATA = (
    # Versions that a branch or tag leads to are due, those assessed longest ago first.
    """
    UPDATE registry_revision SET assess_at = COALESCE(
        (SELECT MAX(a.created_at) FROM registry_assessment a
            WHERE a.revision_id = registry_revision.id),
        created_at
    ) WHERE id IN (SELECT revision_id FROM registry_ref)
    """,
    # Ends of lines without a branch or tag: garbage collection looks at them.
    """
    UPDATE registry_revision SET is_stray = TRUE
    WHERE id NOT IN (SELECT revision_id FROM registry_ref)
        AND id NOT IN (SELECT parent_id FROM registry_revision WHERE parent_id IS NOT NULL)
    """,
    """
    UPDATE registry_blob SET awaits_chunks = TRUE
    WHERE size_bytes > 0 AND condemned_at IS NULL
        AND sha256 IN (SELECT blob_id FROM registry_file WHERE is_lfs)
        AND sha256 NOT IN (SELECT blob_id FROM registry_xetfile)
    """,
    """
    UPDATE registry_namespace SET used_bytes = COALESCE(
        (SELECT SUM(m.used_bytes) FROM registry_mlmodel m
            WHERE m.namespace_id = registry_namespace.id),
        0
    )
    """,
)


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0021_revision_sums'),
    ]

    operations = [
        migrations.CreateModel(
            name='Sweep',
            fields=[
                ('name', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('position', models.CharField(blank=True, max_length=64)),
            ],
        ),
        migrations.AddField(
            model_name='blob',
            name='awaits_chunks',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='identifier',
            name='owner',
            field=models.GeneratedField(db_persist=True, expression=django.db.models.functions.text.Lower(django.db.models.functions.text.Substr('full_name', 1, django.db.models.functions.text.StrIndex('full_name', models.Value('/')))), output_field=models.CharField(max_length=200)),
        ),
        migrations.AddField(
            model_name='namespace',
            name='used_bytes',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='revision',
            name='assess_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='revision',
            name='is_stray',
            field=models.BooleanField(default=False),
        ),
        migrations.AlterField(
            model_name='identifier',
            name='doi_due_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='identifier',
            name='hidden_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='identifier',
            name='withdrawn_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='mlmodel',
            name='updated_at',
            field=models.DateTimeField(),
        ),
        migrations.AlterField(
            model_name='revision',
            name='assess_at',
            field=models.DateTimeField(default=django.utils.timezone.now, null=True),
        ),
        *(migrations.RunSQL(sql, migrations.RunSQL.noop) for sql in _DATA),
        migrations.AddIndex(
            model_name='blob',
            index=models.Index(condition=models.Q(('awaits_chunks', True)), fields=['created_at', 'sha256'], name='blob_awaits_chunks'),
        ),
        migrations.AddIndex(
            model_name='derivation',
            index=models.Index(fields=['source_mlmodel', 'id'], name='derivation_of_source'),
        ),
        migrations.AddIndex(
            model_name='discussionevent',
            index=models.Index(fields=['discussion', 'id'], name='discussion_event_order'),
        ),
        migrations.AddIndex(
            model_name='identifier',
            index=models.Index(fields=['mlmodel', 'kind', '-id'], name='identifier_of_mlmodel'),
        ),
        migrations.AddIndex(
            model_name='identifier',
            index=models.Index(condition=models.Q(('doi_due_at__isnull', False)), fields=['doi_due_at', 'id'], name='identifier_doi_due'),
        ),
        migrations.AddIndex(
            model_name='like',
            index=models.Index(fields=['mlmodel', '-id'], name='like_of_mlmodel'),
        ),
        migrations.AddIndex(
            model_name='like',
            index=models.Index(fields=['user', '-id'], name='like_of_user'),
        ),
        migrations.AddIndex(
            model_name='revision',
            index=models.Index(condition=models.Q(('assess_at__isnull', False)), fields=['assess_at', 'id'], name='revision_assess_due'),
        ),
        migrations.AddIndex(
            model_name='revision',
            index=models.Index(condition=models.Q(('is_stray', True)), fields=['id'], name='revision_stray'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(fields=['webhook', '-id'], name='delivery_of_webhook'),
        ),
        migrations.AddIndex(
            model_name='xorb',
            index=models.Index(condition=models.Q(('payload__isnull', False)), fields=['hash'], name='xorb_with_payload'),
        ),
        migrations.AddIndex(
            model_name='mlmodel',
            index=models.Index(condition=models.Q(('visibility', 'public')), fields=['id'], name='mlmodel_public'),
        ),
        migrations.AddIndex(
            model_name='mlmodel',
            index=models.Index(condition=models.Q(('visibility', 'public')), fields=['kind', 'updated_at', 'id'], name='mlmodel_public_changed'),
        ),
        migrations.AddIndex(
            model_name='mlmodel',
            index=models.Index(condition=models.Q(('visibility', 'public')), fields=['created_at', 'id'], name='mlmodel_public_created'),
        ),
        migrations.AddIndex(
            model_name='mlmodel',
            index=models.Index(condition=models.Q(('visibility', 'public')), fields=['namespace', 'kind', 'updated_at', 'id'], name='mlmodel_public_of_owner'),
        ),
        migrations.AddIndex(
            model_name='mlmodel',
            index=models.Index(django.db.models.expressions.CombinedExpression(models.F('id'), '/', models.Value(5000)), models.F('updated_at'), condition=models.Q(('visibility', 'public')), name='mlmodel_site_map'),
        ),
        migrations.AddField(
            model_name='identifier',
            name='gone_at',
            field=models.GeneratedField(db_persist=True, expression=models.Case(models.When(hidden_at__isnull=False, then=models.F('hidden_at')), models.When(description__isnull=False, then=models.F('withdrawn_at'))), output_field=models.DateTimeField(null=True)),
        ),
        migrations.AddIndex(
            model_name='identifier',
            index=models.Index(condition=models.Q(('gone_at__isnull', False)), fields=['kind', 'repository_kind', 'gone_at', 'id'], name='identifier_gone'),
        ),
        migrations.AddIndex(
            model_name='identifier',
            index=models.Index(condition=models.Q(('gone_at__isnull', False)), fields=['owner', 'kind', 'repository_kind', 'gone_at', 'id'], name='identifier_gone_of_owner'),
        ),
    ]
