package provider

import (
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

const (
	archivePrefix = "terraform-provider-"
	archiveSuffix = ".zip"
)

// ArchiveName returns terraform-provider-TYPE_VERSION_OS_ARCH.zip, which is a safe name of a
// file.
func ArchiveName(p addrs.Provider, v addrs.Version, platform addrs.Platform) string {
	return archivePrefix + stem(p, v.String(), platform) + archiveSuffix
}

// stem returns TYPE_VERSION_OS_ARCH.
func stem(p addrs.Provider, version string, platform addrs.Platform) string {
	return p.Type() + "_" + version + "_" + platform.String()
}

// ParseArchiveName parses a name that [ArchiveName] returns, but ignores case, except in the
// version. If name does not begin with terraform-provider- and end with .zip, all results are
// zero. If it is invalid otherwise, or of another provider, problem says why.
func ParseArchiveName(p addrs.Provider, name string) (v addrs.Version, platform addrs.Platform, problem string) {
	middle, ok := cutFold(name)
	if !ok {
		return v, platform, ""
	}
	parts := strings.Split(middle, "_")
	switch {
	case len(parts) != 4:
		return v, platform, "is not of the form terraform-provider-TYPE_VERSION_OS_ARCH.zip"
	case !strings.EqualFold(parts[0], p.Type()):
		return v, platform, "is of another provider"
	}
	// Unlike the CLI, this keeps the case: 1.0.0-RC1 is not 1.0.0-rc1.
	version, err := addrs.ParseVersion(parts[1])
	if err != nil {
		return v, platform, "has an invalid version"
	}
	on, err := addrs.NewPlatform(strings.ToLower(parts[2]), strings.ToLower(parts[3]))
	if err != nil {
		return v, platform, "has an invalid platform"
	}
	return version, on, ""
}

// cutFold removes the prefix and the suffix of the name of an archive, in any case.
func cutFold(name string) (middle string, ok bool) {
	end := len(name) - len(archiveSuffix)
	if end < len(archivePrefix) || !strings.EqualFold(name[:len(archivePrefix)], archivePrefix) || !strings.EqualFold(name[end:], archiveSuffix) {
		return "", false
	}
	return name[len(archivePrefix):end], true
}
