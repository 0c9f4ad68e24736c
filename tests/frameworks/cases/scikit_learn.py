"""Cases of scikit-learn."""

import numpy as np
import pandas
import xgboost
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.frameworks.cases.live import CLASSES, COLOURS, NEW, NEW_GAPS, Live, X, classifier

CITIES = np.array(["Rome", "Oslo", "Lima"])


def estimator() -> Live:
    """A forest of three classes."""
    return classifier(RandomForestClassifier(8, random_state=0).fit(X, CLASSES), NEW)


def pipeline_of_trees() -> Live:
    """A pipeline that ends in XGBoost."""
    trees = xgboost.XGBClassifier(n_estimators=8, max_depth=3)
    return classifier(make_pipeline(StandardScaler(), trees).fit(X, CLASSES), NEW)


def columns() -> Live:
    """Columns of numbers with missing values and of words, one input each."""
    train, new = _table(X), _table(NEW_GAPS)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    steps = [("numbers", numbers, ["age", "height"]), ("words", OneHotEncoder(), ["city"])]
    model = make_pipeline(ColumnTransformer(steps), LogisticRegression()).fit(train, COLOURS)
    outputs = {"probabilities": model.predict_proba(new), "label": model.predict(new)}
    inputs = {name: new[[name]].to_numpy() for name in new}
    return Live(model, new, inputs, outputs)


def _table(x: np.ndarray) -> pandas.DataFrame:
    cities = CITIES[np.nan_to_num(x[:, 3]).astype(int) % 3]
    return pandas.DataFrame({"age": x[:, 0], "height": x[:, 1], "city": cities})
