import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("registry", "0024_is_held"),
    ]

    operations = [
        migrations.CreateModel(
            name="FormerNamespace",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=96)),
                ("deleted_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("name"),
                        name="former_namespace_unique",
                    )
                ],
            },
        ),
        # Names of tables on the operators' pages.
        migrations.AlterModelOptions(
            name="auditentry", options={"verbose_name_plural": "audit entries"}
        ),
        migrations.AlterModelOptions(
            name="mlmodel",
            options={
                "verbose_name": "model or data set",
                "verbose_name_plural": "models and data sets",
            },
        ),
        migrations.AddIndex(
            model_name="user",
            index=models.Index(
                django.db.models.functions.text.Lower("email"), name="user_email"
            ),
        ),
    ]
