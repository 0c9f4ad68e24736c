"""Stores the best build of each model's head, target and tolerance class."""

import django.db.models.deletion
from django.db import migrations, models

# By the rule of the best build: of the builds that are proved faster and whose newest reproduction
# succeeded, the one of the lowest ratio, then the older; else the baseline.
_FILL = """
    INSERT INTO registry_bestbuild (
        mlmodel_id, target_id, tolerance, build_id, p50_ns, ratio, accuracy, accuracy_reference
    )
    SELECT mlmodel_id, target_id, tolerance, build_id, p50_ns, ratio, accuracy, accuracy_reference
    FROM (
        SELECT r.mlmodel_id, b.target_id, accepted.tolerance, b.id AS build_id, b.p50_ns,
            CASE WHEN b.is_baseline THEN 1.0 ELSE b.ratio END AS ratio,
            b.accuracy, b.accuracy_reference,
            ROW_NUMBER() OVER (
                PARTITION BY r.mlmodel_id, b.target_id, accepted.tolerance
                ORDER BY CASE WHEN b.is_baseline THEN 1 ELSE 0 END, b.ratio, b.id
            ) AS place
        FROM registry_ref r
        JOIN registry_mlmodel m ON m.id = r.mlmodel_id AND r.name = m.default_branch
        JOIN registry_build b ON b.withdrawn_at IS NULL AND b.graph_id = (
            SELECT g.id FROM registry_graph g
            WHERE g.revision_id = r.revision_id AND g.is_primary ORDER BY g.path LIMIT 1
        )
        JOIN (
            SELECT 'exact' AS tolerance, 'exact' AS class
            UNION ALL SELECT 'fp16', 'exact' UNION ALL SELECT 'fp16', 'fp16'
            UNION ALL SELECT 'bf16', 'exact' UNION ALL SELECT 'bf16', 'fp16'
            UNION ALL SELECT 'bf16', 'bf16'
            UNION ALL SELECT 'int8', 'exact' UNION ALL SELECT 'int8', 'fp16'
            UNION ALL SELECT 'int8', 'bf16' UNION ALL SELECT 'int8', 'int8'
        ) accepted ON accepted.class = b.tolerance
        WHERE r.kind = 'branch' AND (b.is_baseline OR b.verdict = 'faster' AND COALESCE(
            (SELECT x.outcome FROM registry_reproduction x
                WHERE x.build_id = b.id ORDER BY x.created_at DESC, x.id DESC LIMIT 1),
            'reproduced'
        ) = 'reproduced')
    ) ranked
    WHERE place = 1
"""


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0022_growth'),
    ]

    operations = [
        migrations.CreateModel(
            name='BestBuild',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tolerance', models.CharField(choices=[('exact', 'Exact'), ('fp16', 'Fp16'), ('bf16', 'Bf16'), ('int8', 'Int8')], max_length=8)),
                ('p50_ns', models.BigIntegerField()),
                ('ratio', models.FloatField()),
                ('accuracy', models.FloatField(null=True)),
                ('accuracy_reference', models.FloatField(null=True)),
                ('build', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='best_of', to='registry.build')),
                ('mlmodel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='best_builds', to='registry.mlmodel')),
                ('target', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='best_builds', to='registry.target')),
            ],
        ),
        migrations.RunSQL(_FILL, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name='bestbuild',
            constraint=models.UniqueConstraint(fields=('mlmodel', 'target', 'tolerance'), name='best_build_unique'),
        ),
        migrations.AddIndex(
            model_name='bestbuild',
            index=models.Index(condition=models.Q(('ratio__lt', 1)), fields=['tolerance', 'ratio', 'id'], name='best_build_gain'),
        ),
        migrations.AddIndex(
            model_name='bestbuild',
            index=models.Index(condition=models.Q(('ratio__lt', 1)), fields=['target', 'tolerance', 'ratio', 'id'], name='best_build_gain_of_target'),
        ),
        migrations.RemoveIndex(
            model_name='build',
            name='build_gain',
        ),
        migrations.RemoveIndex(
            model_name='build',
            name='build_gain_of_target',
        ),
    ]
