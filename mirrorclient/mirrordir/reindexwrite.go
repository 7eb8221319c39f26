package mirrordir

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// deleteOrphans deletes those records whose archives are gone; there are such archives.
func (c *checker) deleteOrphans(ctx context.Context, records []string, there []Entry) error {
	for _, name := range records {
		if slices.ContainsFunc(there, func(e Entry) bool { return recordName(e.Name) == path.Base(name) }) {
			continue
		}
		late, err := c.look(ctx, archivesOf(name))
		if err != nil {
			return err
		}
		if len(late) > 0 {
			continue // it was placed after the survey
		}
		if err := c.Storage.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// archivesOf returns the names that the archive of a record can have.
func archivesOf(record string) []string {
	stem := strings.TrimSuffix(record, recordSuffix)
	names := []string{stem + archiveSuffix}
	if strings.EqualFold(path.Ext(stem), archiveSuffix) {
		names = append(names, stem) // is .ZIP, say
	}
	return names
}

// writeDocuments makes the documents of a version anew, and removes those that would be
// empty. Archives whose names have not been looked at have been placed by somebody without a
// lock meanwhile, and stay.
func (c *checker) writeDocuments(ctx context.Context, p addrs.Provider, v addrs.Version, changes listing, seen []string) (listed bool, err error) {
	for _, dir := range documentHomes(p) {
		err := c.update(ctx, path.Join(dir, documentName(v)), func(data []byte) ([]byte, error) {
			doc, archives, err := parseDocument(data, memberArchives)
			if errors.Is(err, errDocument) {
				doc, archives, err = nil, nil, nil
			}
			if err != nil {
				return nil, err
			}
			kept := object{}
			for platform, raw := range archives {
				l, err := parseListed(raw)
				if err != nil || l.URL == "" {
					continue
				}
				name := resolve(dir, l.URL)
				stays := name == "" || isArchiveOf(p, v, name)
				if slices.Contains(seen, name) {
					stays = changes.confirms(name, l.Hashes)
				} else if !stays {
					stays, err = c.there(ctx, name)
				}
				if err != nil {
					return nil, err
				}
				if stays {
					kept[platform] = raw
				}
			}
			if err := changes.apply(kept, dir); err != nil {
				return nil, err
			}
			listed = listed || len(kept) > 0
			if len(kept) == 0 {
				return nil, nil
			}
			return edited(doc, memberArchives, kept)
		})
		if err != nil {
			return false, err
		}
	}
	return listed, nil
}

// confirms reports whether an archive of this name is among those to be listed, and has the
// hashes that an entry states, which may be one for another platform.
func (l listing) confirms(name string, stated []checksum.Hash) bool {
	for _, r := range l {
		if r.name == name {
			return len(foreign(stated, r.Hashes)) == 0
		}
	}
	return false
}

// there reports whether there is a file of a name that comes from a document.
func (m *Mirror) there(ctx context.Context, name string) (bool, error) {
	size, err := m.size(ctx, name)
	if unnameable(err) {
		return false, nil
	}
	return size >= 0, err
}

// writeIndex has the index in dir list these versions or not. Others, and those that have
// been added since they were looked at, stay.
func (c *checker) writeIndex(ctx context.Context, dir string, all []addrs.Version, listed []bool) error {
	return c.update(ctx, path.Join(dir, indexName), func(data []byte) ([]byte, error) {
		doc, versions, err := parseDocument(data, memberVersions)
		if errors.Is(err, errDocument) {
			doc, versions, err = nil, nil, nil
		}
		if err != nil {
			return nil, err
		}
		if versions == nil {
			versions = object{}
		}
		for i, v := range all {
			old, ok := versions[v.String()]
			switch {
			case listed[i] && (!ok || isNull(old)):
				versions[v.String()] = json.RawMessage("{}")
			case !listed[i] && ok:
				// Whoever has added it since has written its document before the index.
				list, err := c.readListed(ctx, dir, v)
				if err != nil && !errors.Is(err, errDocument) {
					return nil, err
				}
				if len(list) == 0 {
					delete(versions, v.String())
				}
			}
		}
		if len(versions) == 0 {
			return nil, nil
		}
		return edited(doc, memberVersions, versions)
	})
}
