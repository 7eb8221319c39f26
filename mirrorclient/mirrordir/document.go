package mirrordir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/verify/checksum"
)

// listed is an entry in the document of a version.
type listed struct {
	Hashes []checksum.Hash `json:"hashes,omitempty"`
	URL    string          `json:"url"`
}

// recordedArchive is an archive with a record.
type recordedArchive struct {
	name   string // name in the storage
	hashes []checksum.Hash
}

// Limits of documents.
const (
	maxMembers = 100_000 // versions or platforms
	maxHashes  = 100     // for each archive
)

// render returns the document of a version in the directory dir, or nil if it has no entries. It lists
// the recorded archives, and the entries of the old document for which keepsEntry is true. keepsEntry
// gets the name of the file in the mirror, or "" for an external URL.
func render(dir string, archives map[addrs.Platform]recordedArchive, old []byte, keepsEntry func(name string) (bool, error)) ([]byte, error) {
	entries := map[string]listed{}
	for platform, a := range archives {
		entries[platform.String()] = listed{Hashes: a.hashes, URL: urlOf(dir, a.name)}
	}
	raw, err := parseMembers(old, "archives")
	if err != nil {
		return nil, err
	}
	for platform, raw := range raw {
		if _, ours := entries[platform]; ours || isNull(raw) {
			continue
		}
		l, err := parseListed(raw)
		if err != nil {
			return nil, fmt.Errorf("%.50q: %w", platform, err)
		}
		keep, err := keepsEntry(resolve(dir, l.URL))
		if err != nil {
			return nil, err
		}
		if keep && l.URL != "" {
			entries[platform] = l
		}
	}
	if len(entries) == 0 {
		return nil, nil
	}
	return encode(struct {
		Archives map[string]listed `json:"archives"`
	}{entries})
}

// index is the document that lists the versions of a provider.
type index struct {
	Versions map[string]struct{} `json:"versions"`

	// Removing are versions whose documents are being deleted. If a process ends before it has
	// deleted a document, the mark prevents that the version is listed again.
	Removing map[string]struct{} `json:"removing,omitempty"`
}

// parseIndex parses an index. The maps are never nil.
func parseIndex(data []byte) (index, error) {
	i := index{map[string]struct{}{}, map[string]struct{}{}}
	for member, list := range map[string]map[string]struct{}{"versions": i.Versions, "removing": i.Removing} {
		raw, err := parseMembers(data, member)
		if err != nil {
			return i, err
		}
		for text := range raw {
			list[text] = struct{}{}
		}
	}
	return i, nil
}

// render returns the document, or nil if it is empty.
func (i index) render() ([]byte, error) {
	if len(i.Versions) == 0 && len(i.Removing) == 0 {
		return nil, nil
	}
	return encode(i)
}

// parseMembers returns the members of an object in a document, nil if the object or the document is
// missing.
func parseMembers(data []byte, name string) (members map[string]json.RawMessage, err error) {
	if data == nil {
		return nil, nil
	}
	var doc map[string]json.RawMessage
	if err := decode(data, &doc); err != nil {
		return nil, err
	}
	raw, ok := doc[name]
	if !ok || isNull(raw) {
		return nil, nil
	}
	if err := decode(raw, &members); err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	if len(members) > maxMembers {
		return nil, fmt.Errorf("%w: more than %d %s: %w", errDamaged, maxMembers, name, fault.ErrTooLarge)
	}
	return members, nil
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// parseListed parses an entry.
func parseListed(raw json.RawMessage) (l listed, err error) {
	var w *struct {
		Hashes []string `json:"hashes"`
		URL    string   `json:"url"`
	}
	if err := decode(raw, &w); err != nil {
		return listed{}, err
	}
	if len(w.Hashes) > maxHashes {
		return listed{}, fmt.Errorf("%w: more than %d hashes: %w", errDamaged, maxHashes, fault.ErrTooLarge)
	}
	l.URL = w.URL
	for _, text := range w.Hashes {
		h, err := checksum.ParseHash(text)
		if errors.Is(err, checksum.ErrEmptyHash) {
			continue
		}
		if err != nil {
			return listed{}, fmt.Errorf("%w: %w", errDamaged, err)
		}
		l.Hashes = append(l.Hashes, h)
	}
	return l, nil
}

// parseEntries returns the entries of the document of a version, nil if there is no document. An
// invalid entry is an error: without its hashes the archive would be trusted more.
func parseEntries(data []byte) (map[addrs.Platform]listed, error) {
	members, err := parseMembers(data, "archives")
	if err != nil || data == nil {
		return nil, err
	}
	list := make(map[addrs.Platform]listed, len(members))
	for key, raw := range members {
		platform, err := addrs.ParsePlatform(key)
		if err != nil || isNull(raw) {
			continue
		}
		if list[platform], err = parseListed(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", platform, err)
		}
	}
	return list, nil
}
