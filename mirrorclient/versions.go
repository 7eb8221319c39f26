package mirrorclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
)

// maxVersions is the maximum number of versions in an index.
const maxVersions = 100_000

// ProviderVersions lists the versions of p, newest first, without platforms and protocols ("List Available Versions" of
// the protocol). Invalid versions are ignored, with a warning.
func (c *Client) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	const op = "list versions of"
	r, err := c.request(p, "index.json")
	if err != nil {
		return nil, source.Failed(op, p.String(), err)
	}
	versions, err := c.versions.Get(ctx, c.http, r, (*provider.Versions).Clone, func(_ context.Context, resp *httpx.Response) (*provider.Versions, error) {
		return decodeIndex(resp)
	})
	if e, ok := err.(*failure.RequestError); ok && errors.Is(e.Err, failure.ErrNotFound) {
		err = e.Because(fmt.Errorf("%w%s", e.Err, hintFor(c.base, c.host, p)))
	}
	if err != nil {
		return nil, source.Failed(op, p.String(), source.PerhapsUnknown(err, "provider"))
	}
	versions.Provider = p
	return versions, nil
}

// wireIndex also has members of a discovery document, to recognise one.
type wireIndex struct {
	Versions  json.RawMessage `json:"versions"`
	Providers json.RawMessage `json:"providers.v1"`
	Modules   json.RawMessage `json:"modules.v1"`
}

// decode decodes a document of at most max members into v.
func decode(resp *httpx.Response, max int, v any) error {
	if err := checkMediaType(resp); err != nil {
		return err
	}
	if err := jsondoc.CheckMembers(resp.Body, max); err != nil {
		return err
	}
	return resp.DecodeObject(v)
}

func decodeIndex(resp *httpx.Response) (*provider.Versions, error) {
	var doc wireIndex
	if err := decode(resp, jsondoc.MaxMembers, &doc); err != nil {
		return nil, err
	}
	if isNull(doc.Versions) {
		if !isNull(doc.Providers) || !isNull(doc.Modules) {
			return nil, errors.New(hintDiscovery)
		}
		return &provider.Versions{Partial: resp.Cached()}, nil // a provider without versions
	}
	switch doc.Versions[0] {
	case '{':
	case '[':
		return nil, errors.New("versions is an array, want an object; " + hintRegistry)
	default:
		return nil, errors.New("versions is not an object")
	}
	list, err := readIndex(doc.Versions)
	if err == nil {
		list.Partial = resp.Cached()
	}
	return list, err
}

// readIndex reads the names of versions. The values must be objects, as the protocol says, or null,
// which the CLIs accept.
func readIndex(versions json.RawMessage) (*provider.Versions, error) {
	list := &provider.Versions{}
	seen := map[addrs.Version]bool{}
	var notes httpx.Notes
	count := 0
	for m := range httpx.Members(versions) {
		if count++; count > maxVersions {
			return nil, httpx.TooMany("versions", maxVersions)
		}
		if m.Value != '{' && m.Value != 'n' {
			return nil, fmt.Errorf("versions: the value of %q is not an object", httpx.Clip(m.Name))
		}
		version, err := addrs.ParseVersion(m.Name)
		if err != nil {
			notes.Addf("ignored invalid version %q", httpx.Clip(m.Name))
			continue
		}
		if seen[version] {
			notes.Addf("version %s is listed more than once", version)
			continue
		}
		seen[version] = true
		source.NoteUnselectable(&notes, version)
		list.Versions = append(list.Versions, provider.Release{Version: version, Listed: source.Listed(version, m.Name)})
	}
	slices.SortFunc(list.Versions, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	list.Warnings = notes.Lines()
	return list, nil
}

// isNull reports whether a member is null or missing.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
