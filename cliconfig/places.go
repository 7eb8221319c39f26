package cliconfig

import (
	"cmp"
	"slices"
)

// The variables that the CLI has for its configuration.
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

// override returns the configuration file that the environment names, if it does.
func (s System) override() (file, variable string) {
	for _, variable := range []string{envConfigFile, envConfigFileOld} {
		if file := s.getenv(variable); file != "" {
			return s.abs(file), variable
		}
	}
	return "", ""
}

// appData returns the directory for settings on Windows.
func (s System) appData() string {
	return cmp.Or(s.getenv("APPDATA"), s.join(s.Home, "AppData", "Roaming"))
}

// mainFile returns where the configuration file of the user is, be it there or not.
func (s System) mainFile() string {
	dir, names := s.Home, []string{".tofurc", ".terraformrc"}
	if s.windows() {
		dir, names = s.appData(), []string{"tofu.rc", "terraform.rc"}
	}
	if s.Terraform {
		names = names[1:]
	}
	first := "" // that is there, or may be
	for _, name := range names {
		if dir == "" {
			break
		}
		file := s.join(dir, name)
		_, err := s.stat(file)
		if first == "" && !absent(err) {
			first = file
		}
		if s.exists(err) {
			return first
		}
	}
	return cmp.Or(s.join(s.xdg(envXDGConfig), "tofurc"), first, s.join(dir, names[0]))
}

// xdg returns the CLI's directory in the one that a variable names, "" if there is none.
func (s System) xdg(variable string) string {
	if s.windows() || s.Terraform {
		return ""
	}
	return s.join(s.getenv(variable), "opentofu")
}

// configDir returns the directory of further files, "" if nobody can tell.
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

// dataDirs returns the directories that may have a directory "plugins".
func (s System) dataDirs() []string {
	if s.windows() {
		return known(s.configDir())
	}
	return known(s.join(s.Home, ".terraform.d"), s.xdg(envXDGData))
}

// known returns the paths that are not empty.
func known(paths ...string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}
