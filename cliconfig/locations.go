package cliconfig

import (
	"cmp"
	"slices"
)

// The environment variables of the CLI.
const (
	envConfigFile     = "TF_CLI_CONFIG_FILE"
	envConfigFileOld  = "TERRAFORM_CONFIG"
	envXDGConfig      = "XDG_CONFIG_HOME"
	envXDGData        = "XDG_DATA_HOME"
	envXDGDataDirs    = "XDG_DATA_DIRS"
	envPluginCache    = "TF_PLUGIN_CACHE_DIR"
	envMayBreak       = "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"
	envRetry          = "TF_REGISTRY_DISCOVERY_RETRY"
	envTimeout        = "TF_REGISTRY_CLIENT_TIMEOUT"
	envDownloadRetry  = "TF_PROVIDER_DOWNLOAD_RETRY"
	envUserAgent      = "TF_APPEND_USER_AGENT"
	envEnforceSigned  = "OPENTOFU_ENFORCE_GPG_VALIDATION"
	envEnforceExpired = "OPENTOFU_ENFORCE_GPG_EXPIRATION"
)

// override returns the main file that a variable names, or "".
func (s System) override() (file, variable string) {
	for _, variable := range []string{envConfigFile, envConfigFileOld} {
		if file := s.getenv(variable); file != "" {
			return s.abs(file), variable
		}
	}
	return "", ""
}

// appData returns the directory for application settings on Windows.
func (s System) appData() string {
	return cmp.Or(s.getenv("APPDATA"), s.join(s.Home, "AppData", "Roaming"))
}

// mainFile returns the path of the main file, which can be missing.
func (s System) mainFile() string {
	dir, names := s.Home, []string{".tofurc", ".terraformrc"}
	if s.windows() {
		dir, names = s.appData(), []string{"tofu.rc", "terraform.rc"}
	}
	if s.Terraform {
		names = names[1:]
	}
	first := "" // the first file that exists or cannot be checked
	for _, name := range names {
		if dir == "" {
			break
		}
		file := s.join(dir, name)
		_, err := s.stat(file)
		if first == "" && !isNotExist(err) {
			first = file
		}
		if s.exists(err) {
			return first
		}
	}
	return cmp.Or(s.join(s.xdg(envXDGConfig), "tofurc"), first, s.join(dir, names[0]))
}

// xdg returns the directory of the CLI below the directory in a variable, or "".
func (s System) xdg(variable string) string {
	if s.windows() || s.Terraform {
		return ""
	}
	return s.join(s.getenv(variable), "opentofu")
}

// configDir returns the configuration directory, or "" if there is no home directory.
func (s System) configDir() string {
	if s.windows() {
		return s.join(s.appData(), "terraform.d")
	}
	dir := s.join(s.Home, ".terraform.d")
	if dir != "" {
		if _, err := s.stat(dir); s.exists(err) {
			return dir
		}
	}
	return cmp.Or(s.xdg(envXDGConfig), dir)
}

// dataDirs returns the directories that can contain a directory "plugins".
func (s System) dataDirs() []string {
	if s.windows() {
		return nonEmpty(s.configDir())
	}
	return nonEmpty(s.join(s.Home, ".terraform.d"), s.xdg(envXDGData))
}

// nonEmpty returns the paths that are not empty.
func nonEmpty(paths ...string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}
