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

// versionChecker checks one version, and reports only about it.
type versionChecker struct {
	*checker
	reporter
	survey  *survey
	version addrs.Version
	entries map[string]map[addrs.Platform]listed // of the documents, by directory

	// They are guarded by the mutex of the reporter.
	read         map[checksum.Hash]string // names of the archives, by zh
	contradicted []contradiction
}

// contradiction is a document that states hashes which the archive does not have.
type contradiction struct {
	Finding
	wrong         []checksum.Hash
	archiveIsGood bool // it is the one on record
}

// explain says which of the two is wrong, as far as that can be told. Some versions of
// "tofu providers mirror" write the zh of a new version into the documents of all others.
func (f contradiction) explain(archives map[checksum.Hash]string) Finding {
	for _, h := range f.wrong {
		if other, ok := archives[h]; ok {
			f.Detail += "; the document is wrong, the hash is that of " + path.Base(other)
			f.archiveIsGood = true
		}
	}
	if f.archiveIsGood {
		f.Detail += "; Mirror.Reindex corrects the document"
	} else {
		f.Detail += "; one of them is wrong: Mirror.Add finds out with the checksums of the source"
	}
	return f.Finding
}

func (c *versionChecker) find(kind FindingKind, name string, platform addrs.Platform, format string, args ...any) {
	c.note(c.at(platform).finding(kind, name, format, args...))
}

func (c *versionChecker) at(platform addrs.Platform) address {
	return address{c.survey.provider, c.version, platform}
}

func (c *versionChecker) run(ctx context.Context) error {
	c.entries, c.read = map[string]map[addrs.Platform]listed{}, map[checksum.Hash]string{}
	for _, dir := range c.survey.homes {
		if err := c.document(ctx, dir); err != nil {
			return err
		}
	}
	files := c.survey.files
	archives := files.archives[c.version]
	for _, name := range archives {
		c.count(0, 0, 1, files.sizes[name])
	}
	c.count(0, min(1, len(archives)), 0, 0)
	err := each(ctx, len(archives)+1, len(archives), func(ctx context.Context, i int) error {
		return c.archive(ctx, archives[i])
	})
	for _, name := range files.records[c.version] {
		if !slices.ContainsFunc(archives, func(a string) bool { return recordName(a) == name }) {
			c.find(Leftover, name, addrs.Platform{}, "the record of an archive that is not there")
		}
	}
	return err
}

// document checks the document of the version in one directory.
func (c *versionChecker) document(ctx context.Context, dir string) error {
	name := path.Join(dir, documentName(c.version))
	list, err := c.Mirror.entries(ctx, dir, c.version)
	c.entries[dir] = list
	inIndex := c.survey.indices[dir][c.version]
	switch {
	case errors.Is(err, errDocument):
		c.find(Damaged, name, addrs.Platform{}, "%s", oneLine(err))
		return nil
	case err != nil:
		return err
	case list == nil && inIndex:
		c.find(Missing, name, addrs.Platform{}, "the index lists the version")
	case len(list) == 0 && inIndex:
		c.find(Missing, name, addrs.Platform{}, "it lists no archive, but the index lists the version")
	case len(list) > 0 && !inIndex:
		c.find(Unlisted, name, addrs.Platform{}, "the index does not list the version")
	}
	for platform, l := range list {
		file := resolve(dir, l.URL)
		_, there := c.survey.files.sizes[file]
		switch {
		case file == "":
			c.find(Elsewhere, name, platform, "refers to %.200q", l.URL)
		case !there:
			size, err := c.size(ctx, file) // in a directory that is nobody's
			if err != nil {
				return err
			}
			if size < 0 {
				c.find(Missing, file, platform, "%s lists it", name)
			}
		}
	}
	return nil
}

// archive reads one archive.
func (c *versionChecker) archive(ctx context.Context, name string) error {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return fault.Ended(ctx)
	}
	defer c.slots.Release(1)
	_, platform, _ := provider.ParseArchiveName(c.survey.provider, path.Base(name))
	rec, err := c.readRecord(ctx, name)
	switch {
	case errors.Is(err, errDocument):
		c.find(Damaged, recordName(name), platform, "%s", oneLine(err))
	case errors.Is(err, fs.ErrNotExist):
		c.find(Unrecorded, name, platform, "nothing is on record about it")
	case err != nil:
		return err
	}
	local, size, err := c.hash(ctx, name)
	damaged := errors.Is(err, fault.ErrArchive) || errors.Is(err, fault.ErrTooLarge)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // removed by now; what lists it says so
	case err != nil && !damaged:
		return err
	}
	c.tell(c.at(platform).event(EventChecked, size))
	// Of what is wrong with one archive, the first thing explains the others.
	switch {
	case rec != nil && rec.Size != size:
		c.find(Changed, name, platform, "%d bytes, on record are %d", size, rec.Size)
	case rec != nil && len(foreign(rec.Hashes, local)) > 0:
		c.find(Changed, name, platform, "on record is %v, the archive has %v", foreign(rec.Hashes, local), local)
	case damaged:
		c.find(Damaged, name, platform, "%s", oneLine(err))
	default:
		c.listed(name, platform, local, rec != nil)
		if rec != nil {
			c.judge(name, platform, rec, local)
		}
	}
	return nil
}

// hash computes all hashes of an archive. With an error of the archive the zh is there.
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

// listed compares what the documents state with what an archive has.
func (c *versionChecker) listed(name string, platform addrs.Platform, local []checksum.Hash, onRecord bool) {
	c.mu.Lock()
	for _, zh := range checksum.WithScheme(local, checksum.SchemeZH) {
		c.read[zh] = name
	}
	c.mu.Unlock()
	for _, dir := range c.survey.homes {
		document := path.Join(dir, documentName(c.version))
		l, ok := c.entries[dir][platform]
		if !ok || resolve(dir, l.URL) != name {
			c.find(Unlisted, name, platform, "%s does not list it", document)
			continue
		}
		if wrong := foreign(l.Hashes, local); len(wrong) > 0 {
			c.mu.Lock()
			f := c.at(platform).finding(Changed, name, "%s states %v, the archive has %v", document, wrong, local)
			c.contradicted = append(c.contradicted, contradiction{f, wrong, onRecord})
			c.mu.Unlock()
		}
	}
}

// foreign returns those of the stated hashes that could be compared and are not among the
// computed ones.
func foreign(stated, local []checksum.Hash) (wrong []checksum.Hash) {
	for _, h := range stated {
		comparable := slices.ContainsFunc(local, func(l checksum.Hash) bool { return l.Scheme() == h.Scheme() })
		if comparable && !slices.Contains(local, h) {
			wrong = append(wrong, h)
		}
	}
	return wrong
}

// judge looks at the evidence on record.
func (c *versionChecker) judge(name string, platform addrs.Platform, rec *record, local []checksum.Hash) {
	policy := verify.Policy{AllowUnchecked: true, AllowExpired: true, AllowWeak: true, AllowAnyName: true}
	if c.options.Policy != nil {
		policy = *c.options.Policy
	}
	if _, err := policy.Judge(rec.evidence(c.at(platform)), rec.Size, local); err != nil {
		c.find(Refused, name, platform, "%s", oneLine(err))
	}
}
