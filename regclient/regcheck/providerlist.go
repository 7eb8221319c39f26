package regcheck

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/weburl"
)

func (e *examiner) providerVersions() error {
	p := &e.pkg
	var ok bool
	if p.namespace, p.typ, ok = strings.Cut(e.o.Provider, "/"); !ok || strings.Contains(p.typ, "/") {
		return fmt.Errorf("provider %q is not NAMESPACE/TYPE", e.o.Provider)
	}
	u := e.endpoint(providersService, p.namespace, p.typ, "versions")
	var doc struct{ Versions []listedVersion }
	if _, err := e.document(u, maxDocument, true, &doc); err != nil {
		return err
	}
	var seen []string
	for _, v := range doc.Versions {
		parsed, err := addrs.ParseVersion(v.Version)
		if err != nil {
			e.failf("%s: %w", weburl.Redact(u), err)
			continue
		}
		seen = append(seen, parsed.String())
		platforms := e.listedVersion(fmt.Sprintf("%s: version %s", weburl.Redact(u), parsed), v)
		if p.version == "" && (e.o.Version == "" || e.o.Version == v.Version || e.o.Version == parsed.String()) {
			p.version = v.Version
			p.choosePlatform(platforms, e.o.Platform)
		}
	}
	if twice := duplicate(seen); twice != "" {
		e.failf("%s: version %s is listed twice", weburl.Redact(u), twice)
	}
	if p.version == "" {
		return notListed(u, e.o.Version, len(doc.Versions))
	}
	if !p.platform.IsZero() {
		return nil
	}
	var err error
	p.platform, err = addrs.ParsePlatform(cmp.Or(e.o.Platform, "linux_amd64"))
	return err
}

// listedVersion is a version in a list of versions.
type listedVersion struct {
	Version   string
	Protocols []string
	Platforms []struct{ OS, Arch string }
}

// listedVersion checks a version and returns its platforms.
func (e *examiner) listedVersion(where string, v listedVersion) []addrs.Platform {
	e.protocols(where, v.Protocols)
	var platforms []addrs.Platform
	for _, q := range v.Platforms {
		platform, err := addrs.NewPlatform(q.OS, q.Arch)
		if err != nil {
			e.failf("%s: %w", where, err)
			continue
		}
		platforms = append(platforms, platform)
	}
	return platforms
}

// choosePlatform selects the wanted platform, or the first if wanted is empty.
func (p *checkedPackage) choosePlatform(listed []addrs.Platform, wanted string) {
	for _, platform := range listed {
		if wanted == "" || wanted == platform.String() {
			p.platform = platform
			return
		}
	}
}

func (e *examiner) protocols(where string, list []string) {
	for _, protocol := range list {
		if _, err := addrs.ParseVersion(protocol); err != nil {
			e.failf("%s: %q is not a plugin protocol", where, protocol)
		}
	}
}

// notListed returns the error for a version that is not in a list of n versions.
func notListed(u *url.URL, version string, n int) error {
	if version == "" {
		return fmt.Errorf("%s: no valid version in the list of %d", weburl.Redact(u), n)
	}
	return fmt.Errorf("%s: version %q is not in the list of %d", weburl.Redact(u), version, n)
}
