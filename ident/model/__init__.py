"""The model file: ``load_model``, ``save_model`` and the schema."""

from ident.model.file import load_model, model_text, parse_model, save_model

__all__ = ["load_model", "model_text", "parse_model", "save_model"]
