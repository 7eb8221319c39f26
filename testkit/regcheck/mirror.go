package regcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/verify/checksum"
)

// checkedMirror is what is known about the mirror.
type checkedMirror struct {
	base, dir *url.URL // of the mirror, and of the provider in it
	provider  addrs.Provider
	versions  []string
	archives  []checkedArchive // one of each version
	statedAt  map[checksum.Hash]*url.URL
}

// checkedArchive is what a mirror states about an archive.
type checkedArchive struct {
	url    *url.URL
	hashes []checksum.Hash
}

func (e *examiner) mirrorIndex() error {
	m := &e.mirror
	if err := e.openMirror(); err != nil {
		return err
	}
	var doc struct{ Versions map[string]json.RawMessage }
	u := m.dir.JoinPath("index.json")
	if _, err := e.document(u, maxDocument, false, &doc); err != nil {
		return err
	}
	for _, text := range slices.Sorted(maps.Keys(doc.Versions)) {
		v, err := addrs.ParseVersion(text)
		switch {
		case err != nil:
			e.failf("%s: %w", weburl.Redact(u), err)
			continue
		case v.String() != text:
			e.failf("%s: version %q must be listed as %q", weburl.Redact(u), text, v)
		case !strings.HasPrefix(strings.TrimSpace(string(doc.Versions[text])), "{"):
			e.failf("%s: the value of %s is not an object", weburl.Redact(u), text)
		}
		m.versions = append(m.versions, text)
	}
	if len(doc.Versions) == 0 {
		return fmt.Errorf("%s: no versions", weburl.Redact(u))
	}
	return nil
}

// openMirror sets mirror and provider from the options.
func (e *examiner) openMirror() error {
	m := &e.mirror
	base, err := url.Parse(e.o.Mirror)
	if err != nil {
		return errors.New("the URL of the mirror is invalid")
	}
	if err := overHTTPS(base); err != nil {
		return err
	}
	address := e.o.MirrorProvider
	if address == "" && e.base != nil && e.o.Provider != "" {
		address = e.base.Host + "/" + e.o.Provider
	}
	if address == "" {
		return errors.New("set Options.MirrorProvider to a provider in the mirror")
	}
	if m.provider, err = addrs.ParseProvider(address); err != nil {
		return err
	}
	m.base, m.statedAt = base, map[checksum.Hash]*url.URL{}
	m.dir = base.JoinPath(m.provider.Host().String(), url.PathEscape(m.provider.Namespace()), url.PathEscape(m.provider.Type()))
	if strings.Contains(m.provider.Host().String(), ":") {
		e.note(Advice, fmt.Sprintf("%s: both CLIs fail for a provider host with a port on any mirror, with \"unsupported protocol scheme\"", m.provider))
	}
	return nil
}

func (e *examiner) mirrorVersion() error {
	for _, version := range e.mirror.versions {
		if err := context.Cause(e.ctx); err != nil {
			return err
		}
		if e.count[Failed] > maxFindings {
			return nil
		}
		u := e.mirror.dir.JoinPath(url.PathEscape(version) + ".json")
		var doc struct{ Archives map[string]*mirroredArchive }
		r, err := e.document(u, maxDocument, false, &doc)
		if err != nil {
			err = fmt.Errorf("version %s is in the index: %w", version, err)
			if e.ctx.Err() != nil {
				return err
			}
			e.failf("%w", err)
			continue
		}
		if len(doc.Archives) == 0 {
			e.failf("%s: no archives", weburl.Redact(u))
		}
		one := checkedArchive{}
		for _, platform := range slices.Sorted(maps.Keys(doc.Archives)) {
			a, err := e.mirroredArchive(r.url, platform, doc.Archives[platform])
			if err != nil {
				e.failf("%w", err)
			} else if one.url == nil || platform == e.o.Platform {
				one = a
			}
		}
		if one.url != nil {
			e.mirror.archives = append(e.mirror.archives, one)
		}
	}
	return nil
}

// mirroredArchive is an archive in the document of a version.
type mirroredArchive struct {
	URL    string
	Hashes []string
}

// mirroredArchive checks an archive in the document at u.
func (e *examiner) mirroredArchive(u *url.URL, platform string, a *mirroredArchive) (checkedArchive, error) {
	where := weburl.Redact(u)
	if _, err := addrs.ParsePlatform(platform); err != nil {
		return checkedArchive{}, fmt.Errorf("%s: %w", where, err)
	}
	if a == nil {
		return checkedArchive{}, fmt.Errorf("%s: the archive for %s is null", where, platform)
	}
	at, err := e.fileURL(u, "url of "+platform, a.URL)
	if err != nil {
		return checkedArchive{}, err
	}
	if at.Host == u.Host && at.Path == u.Path && (at.RawQuery == "" || at.RawQuery == u.RawQuery) {
		return checkedArchive{}, fmt.Errorf("%s: the url of %s is the document itself", where, platform)
	}
	hashes := e.statedHashes(where+": "+platform, a.Hashes)
	if len(a.Hashes) == 0 {
		e.note(Advice, fmt.Sprintf("%s: no hashes for %s; clients cannot verify the archive", where, platform))
	} else if !slices.ContainsFunc(hashes, checkable) {
		e.failf("%s: %s has no hash of scheme zh or h1", where, platform)
	}
	for _, h := range hashes {
		if h.Scheme() != checksum.SchemeZH {
			continue
		}
		if other := e.mirror.statedAt[h]; other != nil && other.String() != at.String() {
			e.failf("%s: %s is stated for two archives, %s and %s", where, h, weburl.Redact(other), weburl.Redact(at))
		}
		e.mirror.statedAt[h] = at
	}
	return checkedArchive{at, hashes}, nil
}

// mirrorArchives checks one archive of each version, each within the time limit. It ends at
// the first archive that exceeds the limit.
func (e *examiner) mirrorArchives() error {
	for _, a := range e.mirror.archives {
		if e.insecure("url of an archive", a.url) {
			continue
		}
		late := false
		err := e.within(func() error {
			err := e.inspect(a.url, a.hashes, 0, "terraform-provider-"+e.mirror.provider.Type())
			late = e.ctx.Err() != nil
			return err
		})
		if err != nil {
			e.failf("%w", err)
		}
		if late || e.count[Failed] > maxFindings {
			return nil
		}
	}
	return nil
}

func (e *examiner) unknownMirrorProvider() error {
	m := &e.mirror
	e.unknown(m.base.JoinPath(m.provider.Host().String(), "regcheck-unknown", "regcheck-unknown", "index.json"))
	return nil
}
