package httpx

// ModuleVersion is exported because test binaries have no build information.
var ModuleVersion = moduleVersion
