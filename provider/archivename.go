package provider

import (
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

const (
	archivePrefix = "terraform-provider-"
	archiveSuffix = ".zip"
)

// ArchiveName returns the conventional file name of an archive,
// terraform-provider-TYPE_VERSION_OS_ARCH.zip. Nothing in it is from a server, so
// it is safe to use as a file name.
func ArchiveName(p addrs.Provider, v addrs.Version, platform addrs.Platform) string {
	return archivePrefix + stem(p, v.String(), platform) + archiveSuffix
}

// stem returns TYPE_VERSION_OS_ARCH.
func stem(p addrs.Provider, version string, platform addrs.Platform) string {
	return p.Type() + "_" + version + "_" + platform.String()
}

// ParseArchiveName reads the name of an archive of p, as [ArchiveName] makes it. Like the
// CLI it ignores case in the prefix, the type and the platform. Unlike the CLI it keeps the
// case of the version, since 1.0.0-RC1 is not 1.0.0-rc1, and it refuses further parts, as
// in …_linux_amd64_extra.zip.
//
// If problem is not empty, it tells people what is wrong with a name that resembles one of
// an archive. If name has another prefix or suffix, all results are zero.
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
	version, err := addrs.ParseVersion(parts[1])
	if err != nil {
		return v, platform, "has no version in its name"
	}
	on, err := addrs.NewPlatform(strings.ToLower(parts[2]), strings.ToLower(parts[3]))
	if err != nil {
		return v, platform, "has no platform in its name"
	}
	return version, on, ""
}

// cutFold removes prefix and suffix of an archive in any case.
func cutFold(name string) (middle string, ok bool) {
	end := len(name) - len(archiveSuffix)
	if end < len(archivePrefix) || !strings.EqualFold(name[:len(archivePrefix)], archivePrefix) || !strings.EqualFold(name[end:], archiveSuffix) {
		return "", false
	}
	return name[len(archivePrefix):end], true
}
