package regdir

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/regwire"
	"github.com/tofureg/tofureg/internal/stored"
)

// versionList has the entries in the list of versions of a provider or a module.
type versionList map[addrs.Version]listed

// listed is an entry, also of other programs: raw stays as it is.
type listed struct {
	raw json.RawMessage
	versionEntry
}

// versionEntry is what an entry says.
type versionEntry struct {
	Version   string             `json:"version"`
	Protocols []string           `json:"protocols,omitempty"`
	Platforms []regwire.Platform `json:"platforms,omitempty"` // of a provider
}

// entry returns the entry for a version.
func (rec *record) entry(i item) (listed, error) {
	e := versionEntry{Version: i.version.String(), Protocols: rec.Protocols}
	if i.kind == providers {
		for _, a := range rec.Archives {
			e.Platforms = append(e.Platforms, regwire.Platform{OS: a.Platform.OS(), Arch: a.Platform.Arch()})
		}
	}
	raw, err := json.Marshal(e)
	return listed{raw, e}, err
}

// readList reads the list of versions, which is empty if the document is missing.
func (r *Registry) readList(ctx context.Context, i item) (stored.Document, versionList, error) {
	doc, err := stored.Read(ctx, r.Store, i.list())
	if err != nil || doc.Data == nil {
		return doc, versionList{}, err
	}
	list, err := parseList(i, doc.Data)
	if err != nil {
		err = fmt.Errorf("%s: %w", i.list(), err)
	}
	return doc, list, err
}

func parseList(i item, data []byte) (versionList, error) {
	type versions struct{ Versions []json.RawMessage }
	var doc *struct {
		versions
		Modules []versions
	}
	if err := stored.Decode(data, &doc); err != nil {
		return nil, err
	}
	entries, parse := doc.Versions, addrs.ParseVersion
	if i.kind == modules {
		entries, parse = nil, addrs.ParseModuleVersion
		if len(doc.Modules) > 0 {
			entries = doc.Modules[0].Versions
		}
	}
	list := versionList{}
	for _, raw := range entries {
		var e *versionEntry
		if err := stored.Decode(raw, &e); err != nil {
			return nil, err
		}
		v, err := parse(e.Version)
		if err != nil {
			return nil, damaged("%w", err)
		}
		if list[v].raw != nil {
			return nil, damaged("version %s is listed twice", v)
		}
		list[v] = listed{raw, *e}
	}
	return list, nil
}

// versions returns the versions, newest first.
func (l versionList) versions() []addrs.Version {
	return slices.SortedFunc(maps.Keys(l), func(a, b addrs.Version) int { return b.Compare(a) })
}

// render returns the document, or nil without entries.
func (l versionList) render(i item) ([]byte, error) {
	if len(l) == 0 {
		return nil, nil
	}
	var entries []json.RawMessage
	for _, v := range l.versions() {
		entries = append(entries, l[v].raw)
	}
	doc := map[string]any{"versions": entries}
	if i.kind == modules {
		doc = map[string]any{"modules": []any{doc}}
	}
	return stored.Encode(doc)
}
