package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
	"syscall"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// versionChecker checks one version.
type versionChecker struct {
	*checker
	survey   *survey
	version  addrs.Version
	files    *files
	indices  map[string]map[addrs.Version]bool
	entries  map[string]map[addrs.Platform]listed // of the documents, by directory
	archives int
	bytes    int64

	mu           sync.Mutex
	found        []Finding
	contradicted []contradiction
}

// contradiction is a document that states hashes which the archive does not have.
type contradiction struct {
	Finding
	document      string
	wrong, local  []checksum.Hash
	archiveIsGood bool // it is the one on record
}

// explain says which of the two is wrong, as far as that can be told. Some versions of
// "tofu providers mirror" write the zh of a new version into the documents of all others.
func (f contradiction) explain(archives map[checksum.Hash]string) Finding {
	f.Detail = fmt.Sprintf("%s states %v, the archive has %v", f.document, f.wrong, f.local)
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = append(c.found, Finding{
		Kind: kind, Name: name, Provider: c.survey.provider, Version: c.version, Platform: platform,
		Detail: fmt.Sprintf(format, args...),
	})
}

func (c *versionChecker) run(ctx context.Context) error {
	c.entries = map[string]map[addrs.Platform]listed{}
	for _, dir := range c.survey.homes {
		if err := c.document(ctx, dir); err != nil {
			return err
		}
	}
	archives := c.files.archives[c.version]
	for _, name := range archives {
		c.archives++
		c.bytes += c.files.sizes[name]
	}
	err := each(ctx, len(archives)+1, len(archives), func(ctx context.Context, i int) error {
		return c.archive(ctx, archives[i])
	})
	for _, name := range c.files.records[c.version] {
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
	index := c.indices[dir]
	switch {
	case errors.Is(err, errDocument):
		c.find(Damaged, name, addrs.Platform{}, "%s", oneLine(err))
		return nil
	case err != nil:
		return err
	case list == nil && index[c.version]:
		c.find(Missing, name, addrs.Platform{}, "the index lists the version")
	case len(list) == 0 && index[c.version]:
		c.find(Missing, name, addrs.Platform{}, "it lists no archive, but the index lists the version")
	case len(list) > 0 && !index[c.version]:
		c.find(Unlisted, name, addrs.Platform{}, "the index does not list the version")
	}
	for platform, l := range list {
		file := resolve(dir, l.URL)
		_, there := c.files.sizes[file]
		switch {
		case file == "":
			c.find(Elsewhere, name, platform, "refers to %.200q", l.URL)
		case !there:
			there, err := c.there(ctx, file) // in a directory that is nobody's
			if err != nil {
				return err
			}
			if !there {
				c.find(Missing, file, platform, "%s lists it", name)
			}
		}
	}
	return nil
}

// unnameable reports whether err says that no file can have a name, as one may that comes from
// a document.
func unnameable(err error) bool {
	return errors.Is(err, fs.ErrInvalid) || errors.Is(err, ErrName) || errors.Is(err, syscall.ENAMETOOLONG)
}

// there reports whether there is a file of a name that comes from a document.
func (m *Mirror) there(ctx context.Context, name string) (bool, error) {
	size, err := m.size(ctx, name)
	if unnameable(err) {
		return false, nil
	}
	return size >= 0, err
}

// archive reads one archive.
func (c *versionChecker) archive(ctx context.Context, name string) error {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return fault.Ended(ctx)
	}
	defer c.slots.Release(1)
	k, _ := parseArchive(c.survey.provider, path.Base(name))
	rec, err := c.readRecord(ctx, name)
	switch {
	case errors.Is(err, errDocument):
		c.find(Damaged, recordName(name), k.platform, "%s", oneLine(err))
	case errors.Is(err, fs.ErrNotExist):
		c.find(Unrecorded, name, k.platform, "nothing is on record about it")
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
	c.tell(provider.Event{Kind: EventChecked, Provider: c.survey.provider, Version: k.version, Platform: k.platform, Bytes: size, Total: size})
	// Of what is wrong with one archive, the first thing explains the others.
	switch {
	case rec != nil && rec.Size != size:
		c.find(Changed, name, k.platform, "%d bytes, on record are %d", size, rec.Size)
	case rec != nil && len(foreign(rec.Hashes, local)) > 0:
		c.find(Changed, name, k.platform, "on record is %v, the archive has %v", foreign(rec.Hashes, local), local)
	case damaged:
		c.find(Damaged, name, k.platform, "%s", oneLine(err))
	default:
		c.listed(name, k, local, rec != nil)
		if rec != nil {
			c.judge(name, k, rec, local)
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
	zh, err := f.zh(ctx)
	if err != nil {
		return nil, f.size, err
	}
	packed, tree, err := checksum.H1Zip(ctx, f, f.size, c.limits)
	if err != nil {
		return []checksum.Hash{zh}, f.size, err
	}
	return checksum.Sorted([]checksum.Hash{zh, packed, tree}), f.size, nil
}

// listed compares what the documents state with what an archive has.
func (c *versionChecker) listed(name string, k packageKey, local []checksum.Hash, onRecord bool) {
	c.survey.mu.Lock()
	for _, zh := range checksum.WithScheme(local, checksum.SchemeZH) {
		c.survey.archives[zh] = name
	}
	c.survey.mu.Unlock()
	for _, dir := range c.survey.homes {
		l, ok := c.entries[dir][k.platform]
		if !ok || resolve(dir, l.URL) != name {
			c.find(Unlisted, name, k.platform, "%s does not list it", path.Join(dir, documentName(k.version)))
			continue
		}
		if wrong := foreign(l.Hashes, local); len(wrong) > 0 {
			c.mu.Lock()
			c.contradicted = append(c.contradicted, contradiction{
				Finding:  Finding{Kind: Changed, Name: name, Provider: c.survey.provider, Version: k.version, Platform: k.platform},
				document: path.Join(dir, documentName(k.version)), wrong: wrong, local: local, archiveIsGood: onRecord,
			})
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
func (c *versionChecker) judge(name string, k packageKey, rec *record, local []checksum.Hash) {
	policy := verify.Policy{AllowUnchecked: true, AllowExpired: true, AllowWeak: true, AllowAnyName: true}
	if c.options.Policy != nil {
		policy = *c.options.Policy
	}
	pkg := &provider.Package{Provider: c.survey.provider, Version: k.version, Platform: k.platform}
	if _, err := policy.Judge(rec.evidence(pkg), rec.Size, local); err != nil {
		c.find(Refused, name, k.platform, "%s", oneLine(err))
	}
}
