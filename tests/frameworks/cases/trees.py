"""Cases of XGBoost, LightGBM and CatBoost."""

from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas
import xgboost

from tests.frameworks.cases.live import (
    AMOUNTS,
    CLASSES,
    COLOURS,
    GAPS,
    NEW,
    NEW_GAPS,
    Live,
    X,
    classifier,
    regressor,
)

_CATBOOST = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False}


def xgboost_estimator() -> Live:
    """Three classes, missing values, a table of pandas."""
    frame, new = (pandas.DataFrame(x, columns=list("abcd")) for x in (GAPS, NEW_GAPS))
    model = xgboost.XGBClassifier(n_estimators=8, max_depth=3).fit(frame, CLASSES)
    return _of_frame(model, new, NEW_GAPS)


def xgboost_booster() -> Live:
    """Amounts, by the library's own interface."""
    booster = xgboost.train(
        {"objective": "reg:squarederror"}, xgboost.DMatrix(GAPS, label=AMOUNTS), 8
    )
    return regressor(booster, NEW_GAPS, booster.predict(xgboost.DMatrix(NEW_GAPS)))


def lightgbm_estimator() -> Live:
    """Names as classes, missing values, a table of pandas."""
    frame, new = (pandas.DataFrame(x, columns=list("abcd")) for x in (GAPS, NEW_GAPS))
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1).fit(frame, COLOURS)
    return _of_frame(model, new, NEW_GAPS)


def lightgbm_booster() -> Live:
    """Categories, in float64."""
    x, new = X.astype(np.float64), NEW.astype(np.float64)
    data = lightgbm.Dataset(x, AMOUNTS, categorical_feature=[3])
    booster = lightgbm.train({"verbose": -1, "min_data_per_group": 1, "cat_smooth": 1}, data, 8)
    return regressor(booster, new)


def catboost_classifier() -> Live:
    """Names as classes, missing values."""
    return classifier(catboost.CatBoostClassifier(**_CATBOOST).fit(GAPS, COLOURS), NEW_GAPS)


def catboost_regressor() -> Live:
    """Unequal trees."""
    model = catboost.CatBoostRegressor(**_CATBOOST, grow_policy="Lossguide")
    return regressor(model.fit(X, AMOUNTS), NEW)


def _of_frame(model: Any, frame: Any, x: Any) -> Live:
    live = classifier(model, frame)
    return Live(model, frame, {"features": x}, live.outputs)
