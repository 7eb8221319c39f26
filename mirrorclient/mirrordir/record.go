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
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A record lies beside its archive. Programs that share a bucket look for archives in different ways: by the
// first word of a name, by ".zip" anywhere in it, or by four parts between underscores. The name of a record
// has none of these.
const (
	recordPrefix = "record_"
	formerSuffix = ".record.json" // after the name of the archive, in mirrors of earlier versions
)

// recordName returns the name of the record of an archive.
func recordName(archive string) string {
	dir, file := path.Split(archive)
	return dir + recordPrefix + strings.TrimSuffix(file, ".zip") + ".json"
}

// recordedArchive returns the archive of a record in either of its names.
func recordedArchive(record string) (archive string, ok bool) {
	dir, file := path.Split(record)
	if archive, ok = strings.CutSuffix(file, formerSuffix); ok {
		return dir + archive, true
	}
	file, ok = strings.CutPrefix(file, recordPrefix)
	file, isJSON := strings.CutSuffix(file, ".json")
	if !strings.EqualFold(path.Ext(file), ".zip") { // otherwise it is ".ZIP", which recordName leaves
		file += ".zip"
	}
	return dir + file, ok && isJSON
}

// recordOf returns the name of the record of an archive, or "" if there is none.
func (f *files) recordOf(archive string) string {
	for _, name := range []string{recordName(archive), archive + formerSuffix} {
		if _, ok := f.sizes[name]; ok {
			return name
		}
	}
	return ""
}

// isLeftover reports whether a record has no archive, or there is another one with the name of today.
func (f *files) isLeftover(record string) bool {
	archive, _ := recordedArchive(record)
	_, there := f.sizes[archive]
	return !there || f.recordOf(archive) != record
}

// recordFile is the content of a record.
type recordFile struct {
	archive  string
	document                  // its revision is empty unless the file has the name of today
	former   storage.Revision // of the file with the former name, if that was read
}

// name returns the name of the file.
func (f recordFile) name() string {
	if f.former != "" {
		return f.archive + formerSuffix
	}
	return recordName(f.archive)
}

// readRecordFile reads the record of an archive.
func (m *Mirror) readRecordFile(ctx context.Context, archive string) (recordFile, error) {
	doc, err := m.read(ctx, recordName(archive))
	f := recordFile{archive: archive, document: doc}
	if err != nil || doc.Revision != "" {
		return f, err
	}
	return m.readFormer(ctx, archive)
}

// readFormer reads the record with the former name.
func (m *Mirror) readFormer(ctx context.Context, archive string) (recordFile, error) {
	doc, err := m.read(ctx, archive+formerSuffix)
	return recordFile{archive: archive, document: document{Data: doc.Data}, former: doc.Revision}, err
}

// dropFormer deletes the record with the former name.
func (m *Mirror) dropFormer(ctx context.Context, archive string) error {
	f, err := m.readFormer(ctx, archive)
	if err != nil && !errors.Is(err, errDamaged) || f.former == "" {
		return err
	}
	return m.delete(ctx, f.name(), f.former)
}

// writeRecordFile replaces a record that has not changed since it was read, and then deletes one with the former
// name. That one is not read any more, so it is no error if it stays.
func (m *Mirror) writeRecordFile(ctx context.Context, old recordFile, data []byte) error {
	if old.former == "" {
		return m.write(ctx, recordName(old.archive), data, old.document)
	}
	err := m.write(ctx, recordName(old.archive), data, document{})
	if err == nil {
		_ = m.delete(ctx, old.archive+formerSuffix, old.former)
	}
	return err
}

// readRecord reads the record of an archive. Its errors are those of parse.
func (m *Mirror) readRecord(ctx context.Context, archive string) (*record, error) {
	f, err := m.readRecordFile(ctx, archive)
	if err != nil {
		return nil, err
	}
	return f.parse()
}

// parse parses the record. The error wraps fs.ErrNotExist if it is missing, errRemoved and fs.ErrNotExist if it
// is a tombstone, and errDamaged if it is invalid.
func (f recordFile) parse() (*record, error) {
	if f.Data == nil {
		return nil, &fs.PathError{Op: "read", Path: f.name(), Err: fs.ErrNotExist}
	}
	var r *record
	if err := stored.Decode(f.Data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name(), err)
	}
	if r.Removed != "" {
		return nil, fmt.Errorf("%s: %w: %w", f.name(), errRemoved, fs.ErrNotExist)
	}
	if r.Size < 0 {
		return nil, fmt.Errorf("%s: %w: the size is negative", f.name(), errDamaged)
	}
	r.Hashes = slices.DeleteFunc(r.Hashes, checksum.Hash.IsZero)
	r.Protocols = slices.DeleteFunc(r.Protocols, func(text string) bool {
		_, err := addrs.ParseVersion(text)
		return err != nil
	})
	return r, nil
}

// isUnrecorded reports whether err means that the record is missing or invalid.
func isUnrecorded(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged)
}

// writeRecord replaces the record of an archive, unless it is a tombstone, which is errRemoved.
func (m *Mirror) writeRecord(ctx context.Context, archive string, r *record) error {
	data, err := stored.Encode(r)
	if err != nil {
		return err
	}
	return stored.Retry(ctx, recordName(archive), func() error {
		old, err := m.readRecordFile(ctx, archive)
		if err != nil && !errors.Is(err, errDamaged) {
			return err
		}
		if _, err := old.parse(); errors.Is(err, errRemoved) {
			return err
		}
		return m.writeRecordFile(ctx, old, data)
	})
}
