"""The loader and the task of an architecture of ``transformers``, from its name.

Names end in what their class does (``BertForMaskedLM``). Where one ending stands for several tasks,
the ``model_type`` decides.
"""

from collections.abc import Iterator, Mapping
from typing import Any

#: Ending of an architecture's name: the class that loads it, and its task.
_ENDINGS = {
    "ForCausalLM": ("AutoModelForCausalLM", "text-generation"),
    "LMHeadModel": ("AutoModelForCausalLM", "text-generation"),
    "ForConditionalGeneration": ("AutoModelForSeq2SeqLM", "text2text-generation"),
    "EncoderDecoderModel": ("AutoModelForSeq2SeqLM", "text2text-generation"),
    "MTModel": ("AutoModelForSeq2SeqLM", "text2text-generation"),
    "ForTextToText": ("AutoModelForSeq2SeqLM", "text2text-generation"),
    "ForMaskedLM": ("AutoModelForMaskedLM", "fill-mask"),
    "ForSequenceClassification": ("AutoModelForSequenceClassification", "text-classification"),
    "ForTokenClassification": ("AutoModelForTokenClassification", "token-classification"),
    "ForQuestionAnswering": ("AutoModelForQuestionAnswering", "question-answering"),
    "ForQuestionAnsweringSimple": ("AutoModelForQuestionAnswering", "question-answering"),
    "ForMultipleChoice": ("AutoModelForMultipleChoice", "multiple-choice"),
    "ForNextSentencePrediction": (
        "AutoModelForNextSentencePrediction",
        "next-sentence-prediction",
    ),
    "ForImageClassification": ("AutoModelForImageClassification", "image-classification"),
    "ForObjectDetection": ("AutoModelForObjectDetection", "object-detection"),
    "ForSemanticSegmentation": ("AutoModelForSemanticSegmentation", "image-segmentation"),
    "ForUniversalSegmentation": ("AutoModelForUniversalSegmentation", "image-segmentation"),
    "ForInstanceSegmentation": ("AutoModelForInstanceSegmentation", "image-segmentation"),
    "ForSegmentation": ("AutoModelForImageSegmentation", "image-segmentation"),
    "ForDepthEstimation": ("AutoModelForDepthEstimation", "depth-estimation"),
    "ForKeypointDetection": ("AutoModelForKeypointDetection", "keypoint-detection"),
    "ForPoseEstimation": ("AutoModelForPoseEstimation", "keypoint-detection"),
    "ForImageSuperResolution": ("AutoModelForImageToImage", "image-to-image"),
    "ForVideoClassification": ("AutoModelForVideoClassification", "video-classification"),
    "ForMaskedImageModeling": ("AutoModelForMaskedImageModeling", "image-feature-extraction"),
    "ForAudioClassification": ("AutoModelForAudioClassification", "audio-classification"),
    "ForAudioFrameClassification": (
        "AutoModelForAudioFrameClassification",
        "audio-classification",
    ),
    "ForXVector": ("AutoModelForAudioXVector", "audio-classification"),
    "ForCTC": ("AutoModelForCTC", "automatic-speech-recognition"),
    "ForSpeechToText": ("AutoModelForSpeechSeq2Seq", "automatic-speech-recognition"),
    "SpeechEncoderDecoderModel": ("AutoModelForSpeechSeq2Seq", "automatic-speech-recognition"),
    "ForTextToSpeech": ("AutoModelForTextToSpectrogram", "text-to-audio"),
    "ForPrediction": ("AutoModelForTimeSeriesPrediction", "time-series-forecasting"),
    "VisionEncoderDecoderModel": ("AutoModelForImageTextToText", "image-to-text"),
    "Model": ("AutoModel", "feature-extraction"),
}
_PICTURES = """
    aimv2_vision_model beit bit clip_vision_model conditional_detr convnext convnextv2 cvt
    data2vec-vision deformable_detr deit detr dinat dinov2 dinov2_with_registers dinov3_convnext
    dinov3_vit dpt efficientnet focalnet glpn hiera ijepa imagegpt levit mobilenet_v1 mobilenet_v2
    mobilevit mobilevitv2 pixio poolformer pvt pvt_v2 regnet resnet segformer siglip_vision_model
    swiftformer swin swin2sr swinv2 table-transformer timesformer timm_wrapper videomae vit vit_mae
    vit_msn vitdet vivit yolos
"""
_PICTURES_AND_TEXTS = """
    aria aya_vision blip blip-2 chameleon cohere2_vision deepseek_vl deepseek_vl_hybrid emu3
    florence2 gemma3 gemma3n gemma4 glm4v glm4v_moe got_ocr2 idefics2 idefics3 instructblip
    instructblipvideo internvl janus kosmos-2 kosmos-2.5 llama4 llava llava_next llava_next_video
    llava_onevision mistral3 mllama ovis2 paligemma perception_lm pix2struct qwen2_5_vl qwen2_vl
    qwen3_vl qwen3_vl_moe smolvlm t5gemma2 udop video_llava vipllava
"""
_SPEECH_TO_TEXT = """
    canary cohere_asr granite_speech kyutai_speech_to_text moonshine moonshine_streaming pop2piano
    qwen3_asr speech_to_text vibevoice_asr whisper
"""
_SOUNDS = """
    data2vec-audio hubert sew sew-d unispeech unispeech-sat wav2vec2 wav2vec2-bert
    wav2vec2-conformer wavlm
"""
#: Ending, types of models, and their loader and task in place of those of the ending.
_OF_TYPES = (
    (
        "ForConditionalGeneration",
        _SPEECH_TO_TEXT,
        ("AutoModelForSpeechSeq2Seq", "automatic-speech-recognition"),
    ),
    (
        "ForConditionalGeneration",
        _PICTURES_AND_TEXTS,
        ("AutoModelForImageTextToText", "image-text-to-text"),
    ),
    (
        "ForConditionalGeneration",
        "csm dia higgs_audio_v2 musicgen musicgen_melody vibevoice",
        ("AutoModelForTextToWaveform", "text-to-audio"),
    ),
    (
        "ForSequenceClassification",
        _SOUNDS,
        ("AutoModelForAudioClassification", "audio-classification"),
    ),
    (
        "ForQuestionAnswering",
        "tapas",
        ("AutoModelForTableQuestionAnswering", "table-question-answering"),
    ),
    (
        "ForQuestionAnswering",
        "blip lxmert vilt",
        ("AutoModelForVisualQuestionAnswering", "visual-question-answering"),
    ),
    (
        "ForQuestionAnswering",
        "layoutlm layoutlmv2 layoutlmv3",
        ("AutoModelForDocumentQuestionAnswering", "document-question-answering"),
    ),
    (
        "ForObjectDetection",
        "grounding-dino mm-grounding-dino omdet-turbo owlv2 owlvit",
        ("AutoModelForZeroShotObjectDetection", "zero-shot-object-detection"),
    ),
    (
        "Model",
        "align altclip blip chinese_clip clip clipseg metaclip_2 siglip siglip2",
        ("AutoModelForZeroShotImageClassification", "zero-shot-image-classification"),
    ),
    ("Model", "clap", ("AutoModel", "zero-shot-audio-classification")),
    ("Model", "sam sam2 sam_hq", ("AutoModelForMaskGeneration", "mask-generation")),
    ("Model", "bark vits", ("AutoModelForTextToWaveform", "text-to-audio")),
    ("Model", _PICTURES, ("AutoModel", "image-feature-extraction")),
)


def loader_of(config: Mapping[str, Any]) -> tuple[str, str]:
    """The transformers class that loads the first architecture, and its task; "" if unknown.

    Args:
        config: See :func:`registry.selectors.repository.contents.config_of`.
    """
    model_type = config.get("model_type", "")
    name = (config.get("architectures") or [""])[0] if model_type else ""
    return max(_matches(name, model_type), default=(0, False, ("", "")))[2]


def _matches(name: str, model_type: str) -> Iterator[tuple[int, bool, tuple[str, str]]]:
    """Matching rules; the longest ending counts, and of equal ones that of the model's type."""
    for ending, result in _ENDINGS.items():
        if name.endswith(ending):
            yield len(ending), False, result
    for ending, types, result in _OF_TYPES:
        if name.endswith(ending) and model_type in types.split():
            yield len(ending), True, result
