package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A record lies beside its archive. Programs that share a bucket look for archives in different ways: by the
// first word of a name, by ".zip" anywhere in it, or by four parts between underscores. The name of a record
// has none of these.
const recordPrefix = "record_"

// recordName returns the name of the record of an archive.
func recordName(archive string) string {
	dir, file := path.Split(archive)
	return dir + recordPrefix + strings.TrimSuffix(file, ".zip") + ".json"
}

// recordedArchive returns the archive of a record.
func recordedArchive(record string) (archive string, ok bool) {
	dir, file := path.Split(record)
	file, ok = strings.CutPrefix(file, recordPrefix)
	file, isJSON := strings.CutSuffix(file, ".json")
	if !strings.EqualFold(path.Ext(file), ".zip") { // otherwise it is ".ZIP", which recordName leaves
		file += ".zip"
	}
	return dir + file, ok && isJSON
}

// has reports whether there is a file of this name.
func (f *files) has(name string) bool {
	_, ok := f.sizes[name]
	return ok
}

// readRecord reads the record of an archive. The error wraps fs.ErrNotExist if it is missing, errRemoved and
// fs.ErrNotExist if it is a tombstone, and errDamaged if it is invalid; the document has the revision also then.
func (m *Mirror) readRecord(ctx context.Context, archive string) (stored.Document, *record, error) {
	name := recordName(archive)
	doc, err := stored.Read(ctx, m.Store, name)
	if err != nil {
		return doc, nil, err
	}
	if doc.Data == nil {
		return doc, nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	var r *record
	if err := stored.Decode(doc.Data, &r); err != nil {
		return doc, nil, fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case r.Removed != "":
		return doc, nil, fmt.Errorf("%s: %w: %w", name, errRemoved, fs.ErrNotExist)
	case r.Size < 0:
		return doc, nil, fmt.Errorf("%s: %w: the size is negative", name, errDamaged)
	}
	r.Hashes = slices.DeleteFunc(r.Hashes, checksum.Hash.IsZero)
	r.Protocols = slices.DeleteFunc(r.Protocols, func(text string) bool {
		_, err := addrs.ParseVersion(text)
		return err != nil
	})
	return doc, r, nil
}

// isUnrecorded reports whether err means that the record is missing or invalid.
func isUnrecorded(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged)
}

// writeRecord replaces the record of an archive. It returns false if that is a tombstone.
func (m *Mirror) writeRecord(ctx context.Context, archive string, r *record) (bool, error) {
	data, err := stored.Encode(r)
	if err != nil {
		return false, err
	}
	err = stored.Retry(ctx, recordName(archive), func() error {
		old, _, err := m.readRecord(ctx, archive)
		if errors.Is(err, errRemoved) || err != nil && !isUnrecorded(err) {
			return err
		}
		return m.write(ctx, recordName(archive), data, old)
	})
	if errors.Is(err, errRemoved) {
		return false, nil
	}
	return err == nil, err
}
