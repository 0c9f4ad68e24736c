"""Matches of record terms in the HPC Ontology 1.1.0, https://hpc-fair.github.io/ontology/."""

from registry.states import ArchitectureClass

#: Narrowest class of models that contains each architecture class.
ARCHITECTURES = {
    ArchitectureClass.RESIDUAL_CNN: "hpc:ConvolutionalNeuralNetwork",
    ArchitectureClass.DEPTHWISE_CNN: "hpc:ConvolutionalNeuralNetwork",
    ArchitectureClass.PLAIN_CNN: "hpc:ConvolutionalNeuralNetwork",
    ArchitectureClass.DETECTION: "hpc:DeepNeuralNetwork",
    ArchitectureClass.TRANSFORMER: "hpc:DeepNeuralNetwork",
    ArchitectureClass.RECURRENT: "hpc:RecurrentNeuralNetwork",
    ArchitectureClass.MLP: "hpc:FeedforwardNeuralNetwork",
    ArchitectureClass.OTHER: "hpc:MachineLearningModel",
}

#: Terms of other vocabularies with their close matches.
MATCHES: tuple[tuple[str, str], ...] = (
    ("fair4ml:MLModel", "hpc:AIModel"),
    ("schema:Dataset", "hpc:Dataset"),
    ("schema:DataDownload", "hpc:File"),
    ("prov:Activity", "hpc:Activity"),
    ("prov:used", "hpc:used"),
    ("prov:generated", "hpc:generated"),
    ("prov:wasGeneratedBy", "hpc:wasGeneratedBy"),
    ("prov:wasDerivedFrom", "hpc:wasDerivedFrom"),
    ("prov:wasAssociatedWith", "hpc:wasConductedBy"),
    ("fair4ml:trainedOn", "hpc:wasDerivedFromDataset"),
    ("fair4ml:mlTask", "hpc:subject"),
    ("fair4ml:sharedBy", "hpc:submitter"),
    ("schema:creator", "hpc:creator"),
    ("schema:contributor", "hpc:contributor"),
    ("schema:license", "hpc:license"),
    ("schema:version", "hpc:version"),
    ("schema:contentSize", "hpc:fileSize"),
)
