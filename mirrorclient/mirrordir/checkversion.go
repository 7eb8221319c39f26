package mirrordir

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// versionChecker checks one version. Its reporter has only the findings about the version.
type versionChecker struct {
	*checker
	reporter
	inventory *inventory
	version   addrs.Version
	entries   map[string]map[addrs.Platform]listed // entries of the documents, by directory

	// The mutex of the reporter guards these fields.
	archivesByZH map[checksum.Hash]string // names of the archives, by zh
	contradicted []contradiction
}

// contradiction is a finding about a document that states hashes which the archive does not have.
type contradiction struct {
	Finding
	wrong         []checksum.Hash
	archiveIsGood bool // whether the archive has the recorded hashes
}

// explain adds to the finding whether the document or the archive is wrong, if that is known. Some
// versions of "tofu providers mirror" write the zh of a new version into all documents.
func (f contradiction) explain(archives map[checksum.Hash]string) Finding {
	for _, h := range f.wrong {
		if other, ok := archives[h]; ok {
			f.Detail += "; the document is wrong: it states the hash of " + path.Base(other)
			f.archiveIsGood = true
		}
	}
	if f.archiveIsGood {
		f.Detail += "; run Mirror.Reindex to correct the document"
	} else {
		f.Detail += "; run Mirror.Add to compare the archive with the checksums of the source"
	}
	return f.Finding
}

func (c *versionChecker) addFinding(kind FindingKind, name string, platform addrs.Platform, format string, args ...any) {
	c.note(c.address(platform).finding(kind, name, format, args...))
}

func (c *versionChecker) address(platform addrs.Platform) address {
	return address{c.inventory.provider, c.version, platform}
}

func (c *versionChecker) run(ctx context.Context) error {
	c.entries, c.archivesByZH = map[string]map[addrs.Platform]listed{}, map[checksum.Hash]string{}
	for _, dir := range c.inventory.dirs {
		if err := c.checkDocument(ctx, dir); err != nil {
			return err
		}
	}
	files := c.inventory.files
	archives := files.archives[c.version]
	for _, name := range archives {
		c.count(0, 0, 1, files.sizes[name])
	}
	c.count(0, min(1, len(archives)), 0, 0)
	err := each(ctx, len(archives)+1, len(archives), func(ctx context.Context, i int) error {
		return c.checkArchive(ctx, archives[i])
	})
	for _, name := range files.records[c.version] {
		if !slices.ContainsFunc(archives, func(a string) bool { return recordName(a) == name }) {
			c.addFinding(Leftover, name, addrs.Platform{}, "the record of a missing archive")
		}
	}
	return err
}

// checkDocument checks the document of the version in one directory.
func (c *versionChecker) checkDocument(ctx context.Context, dir string) error {
	name := path.Join(dir, documentName(c.version))
	list, err := c.Mirror.readEntries(ctx, dir, c.version)
	c.entries[dir] = list
	inIndex := c.inventory.indices[dir][c.version]
	switch {
	case errors.Is(err, errDamaged):
		c.addFinding(Damaged, name, addrs.Platform{}, "%s", oneLine(err))
		return nil
	case err != nil:
		return err
	case list == nil && inIndex:
		c.addFinding(Missing, name, addrs.Platform{}, "the index lists the version")
	case len(list) == 0 && inIndex:
		c.addFinding(Missing, name, addrs.Platform{}, "the document is empty, but the index lists the version")
	case len(list) > 0 && !inIndex:
		c.addFinding(Unlisted, name, addrs.Platform{}, "the index does not list the version")
	}
	for platform, l := range list {
		file := resolve(dir, l.URL)
		_, there := c.inventory.files.sizes[file]
		switch {
		case file == "":
			c.addFinding(External, name, platform, "it lists the URL %.200q", l.URL)
		case !there:
			size, err := c.fileSize(ctx, file) // file may be in another directory
			if err != nil {
				return err
			}
			if size < 0 {
				c.addFinding(Missing, file, platform, "%s lists it", name)
			}
		}
	}
	return nil
}

// checkArchive reads one archive and compares it with its record and the documents.
func (c *versionChecker) checkArchive(ctx context.Context, name string) error {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return fault.Ended(ctx)
	}
	defer c.slots.Release(1)
	_, platform, _ := provider.ParseArchiveName(c.inventory.provider, path.Base(name))
	rec, err := c.readRecord(ctx, name)
	switch {
	case errors.Is(err, errDamaged):
		c.addFinding(Damaged, recordName(name), platform, "%s", oneLine(err))
	case errors.Is(err, fs.ErrNotExist):
		c.addFinding(Unrecorded, name, platform, "the archive has no record")
	case err != nil:
		return err
	}
	local, size, err := c.hash(ctx, name)
	damaged := errors.Is(err, fault.ErrArchive) || errors.Is(err, fault.ErrTooLarge)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // removed since it was listed
	case err != nil && !damaged:
		return err
	}
	c.progress(c.address(platform).event(EventChecked, size))
	// Report only the first problem of an archive, since it explains the others.
	switch {
	case rec != nil && rec.Size != size:
		c.addFinding(Changed, name, platform, "the archive is %d bytes, the record states %d", size, rec.Size)
	case rec != nil && len(contradicting(rec.Hashes, local)) > 0:
		c.addFinding(Changed, name, platform, "the record states %v, the archive has %v", contradicting(rec.Hashes, local), local)
	case damaged:
		c.addFinding(Damaged, name, platform, "%s", oneLine(err))
	default:
		c.compareListed(name, platform, local, rec != nil)
		if rec != nil {
			c.judgeRecord(name, platform, rec, local)
		}
	}
	return nil
}

// hash computes all hashes of an archive. If the archive is invalid, it returns the zh and the error.
func (c *checker) hash(ctx context.Context, name string) (local []checksum.Hash, size int64, err error) {
	f, err := c.openArchive(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	defer f.close()
	packed, tree, err := f.h1(ctx, c.limits)
	if err != nil {
		return []checksum.Hash{f.zh}, f.size, err
	}
	return checksum.Sorted([]checksum.Hash{f.zh, packed, tree}), f.size, nil
}

// compareListed compares the documents with the hashes of an archive.
func (c *versionChecker) compareListed(name string, platform addrs.Platform, local []checksum.Hash, onRecord bool) {
	c.mu.Lock()
	for _, zh := range checksum.WithScheme(local, checksum.SchemeZH) {
		c.archivesByZH[zh] = name
	}
	c.mu.Unlock()
	for _, dir := range c.inventory.dirs {
		document := path.Join(dir, documentName(c.version))
		l, ok := c.entries[dir][platform]
		if !ok || resolve(dir, l.URL) != name {
			c.addFinding(Unlisted, name, platform, "%s does not list it", document)
			continue
		}
		if wrong := contradicting(l.Hashes, local); len(wrong) > 0 {
			c.mu.Lock()
			f := c.address(platform).finding(Changed, name, "%s states %v, the archive has %v", document, wrong, local)
			c.contradicted = append(c.contradicted, contradiction{f, wrong, onRecord})
			c.mu.Unlock()
		}
	}
}

// contradicting returns the stated hashes that differ from a computed hash of the same scheme.
func contradicting(stated, local []checksum.Hash) (wrong []checksum.Hash) {
	for _, h := range stated {
		comparable := slices.ContainsFunc(local, func(l checksum.Hash) bool { return l.Scheme() == h.Scheme() })
		if comparable && !slices.Contains(local, h) {
			wrong = append(wrong, h)
		}
	}
	return wrong
}

// judgeRecord judges the recorded evidence.
func (c *versionChecker) judgeRecord(name string, platform addrs.Platform, rec *record, local []checksum.Hash) {
	policy := verify.Policy{AllowUnchecked: true, AllowExpired: true, AllowWeak: true, AllowAnyName: true}
	if c.options.Policy != nil {
		policy = *c.options.Policy
	}
	if _, err := policy.Judge(rec.evidence(c.address(platform)), rec.Size, local); err != nil {
		c.addFinding(Refused, name, platform, "%s", oneLine(err))
	}
}
