package httpx

// ModuleVersion is what the default User-Agent takes from the build information,
// which a test binary does not have.
var ModuleVersion = moduleVersion
