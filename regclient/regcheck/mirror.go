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
	"github.com/tofureg/tofureg/verify/checksum"
)

// checkedMirror is what is known of the mirror.
type checkedMirror struct {
	dir      *url.URL // of the provider
	provider addrs.Provider
	versions []string
	archive  *url.URL // one of them, and its hashes
	hashes   []checksum.Hash
}

func (e *examiner) mirrorIndex() error {
	m := &e.mirror
	base, err := url.Parse(e.o.Mirror)
	if err != nil {
		return errors.New("the URL of the mirror is none")
	}
	if err := overHTTPS(base); err != nil {
		return err
	}
	address := e.o.MirrorProvider
	if address == "" && e.base != nil {
		address = e.base.Host + "/" + e.o.Provider
	}
	if e.o.MirrorProvider == "" && e.o.Provider == "" || address == "" {
		return errors.New("Options.MirrorProvider does not say for which provider to ask the mirror")
	}
	if m.provider, err = addrs.ParseProvider(address); err != nil {
		return err
	}
	m.dir = base.JoinPath(m.provider.Host().String(), url.PathEscape(m.provider.Namespace()), url.PathEscape(m.provider.Type()))
	var doc struct{ Versions map[string]json.RawMessage }
	u := m.dir.JoinPath("index.json")
	if _, err := e.document(u, maxDocument, false, &doc); err != nil {
		return err
	}
	for _, text := range slices.Sorted(maps.Keys(doc.Versions)) {
		v, err := addrs.ParseVersion(text)
		switch {
		case err != nil:
			e.failf("%s: %w", shownURL(u), err)
			continue
		case v.String() != text:
			e.failf("%s: version %q has to be listed as %q, since it is asked for as %s", shownURL(u), text, v, v)
		case !strings.HasPrefix(strings.TrimSpace(string(doc.Versions[text])), "{"):
			e.failf("%s: the value of %s is not an object", shownURL(u), text)
		}
		m.versions = append(m.versions, text)
	}
	if len(doc.Versions) == 0 {
		return fmt.Errorf("%s: it lists no versions", shownURL(u))
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
		var doc struct {
			Archives map[string]*struct {
				URL    string
				Hashes []string
			}
		}
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
			e.failf("%s: there are no archives", shownURL(u))
		}
		for _, platform := range slices.Sorted(maps.Keys(doc.Archives)) {
			if _, err := addrs.ParsePlatform(platform); err != nil {
				e.failf("%s: %w", shownURL(u), err)
				continue
			}
			a := doc.Archives[platform]
			if a == nil {
				e.failf("%s: the archive for %s is null", shownURL(u), platform)
				continue
			}
			at, err := resolve(r.url, "url of "+platform, a.URL)
			if err != nil {
				e.failf("%s: %w", shownURL(u), err)
				continue
			}
			hashes := e.statedHashes(shownURL(u)+": "+platform, a.Hashes)
			if len(a.Hashes) == 0 {
				e.note(Advice, fmt.Sprintf("%s: no hashes for %s: nobody can verify the archive", shownURL(u), platform))
			} else if !slices.ContainsFunc(hashes, checkable) {
				e.failf("%s: none of the hashes of %s is one that clients can check, of scheme zh or h1", shownURL(u), platform)
			}
			e.mirror.archive, e.mirror.hashes = at, hashes
		}
	}
	return nil
}

func (e *examiner) mirrorArchive() error {
	return e.inspect(e.mirror.archive, e.mirror.hashes, 0, "terraform-provider-"+e.mirror.provider.Type())
}
