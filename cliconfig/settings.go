package cliconfig

import "slices"

// otherSettings are settings of some version of the CLI that have no meaning here.
var otherSettings = []string{
	"providers", "provisioners", "disable_checkpoint", "disable_checkpoint_signature",
	"oci_credentials", "oci_default_credentials", // ignored for Terraform
}

// top reads the top-level items of a file.
func (r *fileReader) top(items []item) {
	for _, it := range items {
		switch {
		// As in the CLI, these four must be in lower case.
		case it.name() == "provider_installation":
			r.installation(it)
		case it.name() == "registry_protocols":
			r.registryProtocols(it)
		case it.name() == "oci_default_credentials" && !r.sys.Terraform:
			r.ociDefaultCredentials(it)
		case it.name() == "oci_credentials" && !r.sys.Terraform:
			r.ociCredentials(it)
		case it.is("credentials"):
			r.labelled(it, r.credentialsBlock)
		case it.is("credentials_helper"):
			r.labelled(it, r.helperBlock)
		case it.is("host"):
			r.labelled(it, r.hostBlock)
		case it.is("plugin_cache_dir"):
			r.pluginCacheDir(it)
		case it.is("plugin_cache_may_break_dependency_lock_file"):
			r.mayBreakLock(it)
		case !slices.ContainsFunc(otherSettings, it.is):
			r.warnf(it.at(), "unknown setting %s is ignored", quote(it.name()))
		}
	}
}

// labelled calls read for each block of a setting with labelled blocks. In JSON, the label
// is the name of a member.
func (r *fileReader) labelled(it item, read func(label name, body value)) {
	switch {
	case len(it.names) > 2:
		r.errorf(it.names[2].at, "a block %q has one label", it.name())
	case it.value.kind != object:
		r.errorf(it.value.at, "%q must be a block, not %s", it.name(), it.value.kind)
	case len(it.names) == 2:
		read(it.names[1], it.value)
	default:
		for _, member := range it.value.body {
			r.labelled(item{names: append([]name{it.names[0]}, member.names...), value: member.value}, read)
		}
	}
}

// isArgument reports whether it is an argument without labels, or a block if permitted. It
// reports an error if not.
func (r *fileReader) isArgument(it item, block bool) bool {
	switch {
	case len(it.names) > 1:
		r.errorf(it.names[1].at, "%q has no labels", it.name())
	case !it.equals && !block:
		r.errorf(it.value.at, "%q is an argument and needs an equals sign", it.name())
	default:
		return true
	}
	return false
}

// pluginCacheDir reads the setting plugin_cache_dir. The first file counts, and in a file
// the last setting.
func (r *fileReader) pluginCacheDir(it item) {
	written, ok := r.text(it)
	if !ok {
		return
	}
	dir, ok := r.sys.expand(written)
	if !ok {
		r.errorf(it.value.at, "the path is too long")
		return
	}
	if dir == "" || r.set.cacheDir != "" && r.set.cachePlace.File != r.file {
		return
	}
	r.set.cachePlace = r.place(it.at())
	r.set.cacheDir, r.set.cacheShown = r.sys.abs(dir), r.sys.abs(dir)
	if dir != written {
		r.set.cacheShown = written // a variable can contain a token
	}
}

// mayBreakLock reads plugin_cache_may_break_dependency_lock_file. Any file can enable it.
func (r *fileReader) mayBreakLock(it item) {
	if on, ok := r.boolean(it); ok && on {
		r.set.mayBreakLock = true
	}
}
