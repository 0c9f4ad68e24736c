// The theme that a person chose on the hub or here, set before anything is painted.
document.body.dataset.theme = localStorage.getItem("theme") || "auto";
