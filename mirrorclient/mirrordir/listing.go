package mirrordir

import (
	"context"
	"encoding/json"
	"path"

	"github.com/tofureg/tofureg/addrs"
)

// documentHomes returns the directories that have the documents of p: the one with the
// archives and, for an internationalised host, the one where network clients look.
func documentHomes(p addrs.Provider) []string {
	home, wire := homeOf(p), wireHomeOf(p)
	if home == wire {
		return []string{home}
	}
	return []string{home, wire}
}

// listing is what the documents are to say about archives of one version. Nil takes the
// platform out.
type listing map[addrs.Platform]*recorded

// recorded is an archive that is on record.
type recorded struct {
	*record
	name string // of the archive in the storage
}

// list brings the documents up to date. The document of the version comes before the
// index, so that what the index names can be asked for.
func (m *Mirror) list(ctx context.Context, p addrs.Provider, v addrs.Version, changes listing) error {
	if len(changes) == 0 {
		return nil
	}
	homes, lists := documentHomes(p), false
	for _, dir := range homes {
		err := m.update(ctx, path.Join(dir, documentName(v)), func(data []byte) ([]byte, error) {
			doc, archives, err := parseDocument(data, memberArchives)
			if err != nil {
				return nil, err
			}
			if archives == nil {
				archives = object{}
			}
			if err := changes.apply(archives, dir); err != nil {
				return nil, err
			}
			lists = lists || len(archives) > 0
			if data == nil && len(archives) == 0 {
				return nil, nil
			}
			return edited(doc, memberArchives, archives)
		})
		if err != nil {
			return err
		}
	}
	if !lists {
		return nil
	}
	for _, dir := range homes {
		if err := m.listVersion(ctx, dir, v); err != nil {
			return err
		}
	}
	return nil
}

// apply changes the entries of a document in the directory dir.
func (l listing) apply(archives object, dir string) error {
	for platform, r := range l {
		if r == nil {
			delete(archives, platform.String())
			continue
		}
		raw, err := json.Marshal(listed{Hashes: r.Hashes, URL: urlOf(dir, r.name)})
		if err != nil {
			return err
		}
		archives[platform.String()] = raw
	}
	return nil
}

// listVersion puts v into the index in dir.
func (m *Mirror) listVersion(ctx context.Context, dir string, v addrs.Version) error {
	return m.update(ctx, path.Join(dir, indexName), func(data []byte) ([]byte, error) {
		doc, versions, err := parseDocument(data, memberVersions)
		if err != nil {
			return nil, err
		}
		if raw, ok := versions[v.String()]; ok && !isNull(raw) {
			return data, nil
		}
		if versions == nil {
			versions = object{}
		}
		versions[v.String()] = json.RawMessage("{}")
		return edited(doc, memberVersions, versions)
	})
}
