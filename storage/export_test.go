package storage

// CheckFileName is for tests of names on other systems.
var CheckFileName = checkFileName
