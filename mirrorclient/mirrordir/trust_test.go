package mirrordir_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/mirrortest"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// altered is a source whose packages are changed.
type altered struct {
	provider.Source
	change func(pkg *provider.Package)
}

func (s altered) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := s.Source.ProviderPackage(ctx, p, v, on)
	if err == nil {
		pkg = pkg.Clone()
		s.change(pkg)
	}
	return pkg, err
}

// TestForgedStatement: a mirror records no h1 that is only stated.
func TestForgedStatement(t *testing.T) {
	t.Parallel()
	_, client := newRegistry(t)
	forged := checksum.MustParseHash("h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	src := altered{client, func(pkg *provider.Package) {
		pkg.Hashes = map[addrs.Platform][]checksum.Hash{pkg.Platform: {forged, pkg.SHA256}}
	}}
	m, dir := newMirror(t)
	mustAdd(t, m, src, wants(three[:1], v1), mirrordir.Options{ZHOnly: true})
	if list := read(t, dir, home+"/1.0.0.json"); strings.Contains(list, forged.String()) {
		t.Errorf("the mirror states the forged hash: %s", list)
	}
	lock := &lockfile.File{}
	must.Do(t, lock.Set(lockfile.Entry{Provider: alpha, Version: v1, Hashes: []checksum.Hash{forged}}))
	if added, err := m.AddLocked(t.Context(), src, lock, three[:1], mirrordir.Options{}); err == nil {
		t.Errorf("AddLocked with only the forged hash = %+v, want an error", added)
	}
	policy := verify.Policy{Accept: []checksum.Hash{forged}}
	if pkg, err := m.RecordedPackage(t.Context(), alpha, v1, three[0], policy); pkg != nil {
		t.Errorf("RecordedPackage for the forged hash = %v, %v, want none", pkg, err)
	}
}

// TestPinnedKeys: what pinned keys have verified, they verify again from the mirror.
func TestPinnedKeys(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]verify.Key{"none": nil, "another": {regtest.NewKey(regtest.KeyOptions{Name: "other"}).Public()}} {
		reg, client := newRegistry(t)
		pkg := must.Get(client.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		pinned := verify.Policy{Keys: pkg.Keys}
		src := altered{client, func(pkg *provider.Package) { pkg.Keys = keys }}
		m, _ := newMirror(t)
		mustAdd(t, m, src, wants(three[:1], v1), mirrordir.Options{Policy: pinned})
		reg.Reset()
		mustAdd(t, m, src, wants(three[:1], v1), mirrordir.Options{Policy: pinned})
		if reg.Count(0) != 0 {
			t.Errorf("listed key %s: the second Add makes requests: %v", name, reg.Requests())
		}
		got := must.Get(m.ProviderPackage(t.Context(), alpha, v1, three[0]))(t)
		if _, err := provider.Download(t.Context(), m, got, filepath.Join(t.TempDir(), "x.zip"), provider.Options{Policy: pinned}); err != nil {
			t.Errorf("listed key %s: Download from the mirror with the pinned keys: %v", name, err)
		}
	}
}

// TestHashesWithoutEvidence: an archive without evidence does not affect the others, whose evidence the
// mirror has.
func TestHashesWithoutEvidence(t *testing.T) {
	t.Parallel()
	for _, without := range three {
		for name, policy := range map[string]verify.Policy{"strict": {}, "lax": {AllowUnsigned: true}} {
			m, dir, _, _ := filled(t)
			remove(t, dir, recordOf(v1, without))
			must.Get(m.Reindex(t.Context(), mirrordir.CheckOptions{}))(t)
			got, err := provider.Hashes(t.Context(), m, alpha, v1, three, provider.HashOptions{Policy: policy})
			if want := map[string]int{"strict": 2, "lax": 3}[name]; len(got) < want {
				t.Errorf("%s, %s without evidence: %d reports, %v, want at least %d", name, without, len(got), err, want)
			}
		}
	}
}

// TestNoPackage: a missing package is an error.
func TestNoPackage(t *testing.T) {
	t.Parallel()
	m, _ := newMirror(t)
	_, err1 := m.Open(t.Context(), nil)
	_, err2 := m.Evidence(t.Context(), nil)
	for _, err := range []error{err1, err2} {
		if _, ok := errors.AsType[*provider.Error](err); !ok {
			t.Errorf("error %v of a nil package, want a *provider.Error", err)
		}
	}
}

// TestRecordedProtocols: a record cannot put control characters into errors.
func TestRecordedProtocols(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	name := recordOf(v1, linux)
	record := mirrortest.Parse[map[string]any](t, read(t, dir, name))
	record["protocols"] = []string{"5.0", "\x1b[31mred\n"}
	data := must.Get(json.Marshal(record))(t)
	write(t, dir, name, string(data))
	pkg, err := m.ProviderPackage(t.Context(), alpha, v1, linux)
	if err != nil || !slices.Equal(pkg.Protocols, []string{"5.0"}) {
		t.Errorf("package %+v, %v, want the protocol 5.0 only", pkg, err)
	}
}

// TestAddArchiveAgain: an identical archive without evidence is not stored again.
func TestAddArchiveAgain(t *testing.T) {
	t.Parallel()
	full, dir, _, client := filled(t)
	remove(t, dir, recordOf(v1, linux))
	must.Get(full.Reindex(t.Context(), mirrordir.CheckOptions{}))(t)
	m := open(t, dir)
	before := must.Get(os.Stat(filepath.Join(dir, archive(v1, linux))))(t)
	pkg := must.Get(client.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	s := must.Get(m.Stage(t.Context()))(t)
	defer s.Discard()
	got := must.Get(provider.Receive(t.Context(), client, pkg, s.File, provider.ReceiveOptions{FetchEvidence: true}))(t)
	if _, err := m.AddArchive(t.Context(), s, pkg, got, mirrordir.Options{}); err != nil {
		t.Errorf("AddArchive of an identical archive: %v", err)
	}
	if after, err := os.Stat(filepath.Join(dir, archive(v1, linux))); err != nil || !os.SameFile(before, after) {
		t.Errorf("AddArchive has replaced an identical archive: %v", err)
	}
	if pkg, err := m.RecordedPackage(t.Context(), alpha, v1, linux, verify.Policy{}); pkg == nil {
		t.Errorf("RecordedPackage after it: %v, want the package", err)
	}
}

// TestKeptIsNotReported checks that an archive which was changed without changing its size is not
// reported as signed or accepted, and adds nothing to a lock file.
func TestKeptIsNotReported(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	m, dir := newMirror(t)
	mustAdd(t, m, src, wants(three[:1], v1), mirrordir.Options{ZHOnly: true})
	data := []byte(read(t, dir, archive(v1, linux)))
	pkg := must.Get(src.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	data[len(data)/2] ^= 1
	must.Do(t, os.WriteFile(filepath.Join(dir, archive(v1, linux)), data, 0o644))
	locked := &lockfile.File{}
	must.Do(t, locked.Set(lockfile.Entry{Provider: alpha, Version: v1, Hashes: []checksum.Hash{pkg.SHA256}}))
	for name, add := range map[string]func() ([]mirrordir.Added, error){
		"Add": func() ([]mirrordir.Added, error) {
			return m.Add(t.Context(), failing{Err: errors.New("no source")}, wants(three[:1], v1), mirrordir.Options{ZHOnly: true})
		},
		"AddLocked": func() ([]mirrordir.Added, error) {
			return m.AddLocked(t.Context(), failing{Err: errors.New("no source")}, locked, three[:1], mirrordir.Options{ZHOnly: true})
		},
	} {
		added, err := add()
		if err != nil || len(added) != 1 || added[0].Fetched || added[0].Report != nil {
			t.Fatalf("%s = %+v, %v; want the archive without a report", name, added, err)
		}
		lock := &lockfile.File{}
		if err := lock.Merge(alpha, v1, addrs.ProviderConstraint{}, added[0].Report.Recordable()); err != nil || len(lock.Accept(alpha, v1)) > 0 {
			t.Errorf("%s: the lock file has %v, %v; want no hash", name, lock.Accept(alpha, v1), err)
		}
	}
	// An archive that is read, for its h1, is replaced.
	added, err := m.Add(t.Context(), src, wants(three[:1], v1), mirrordir.Options{})
	if err != nil || len(added) != 1 || !added[0].Fetched || added[0].Report.Trust != verify.Signed {
		t.Errorf("Add with h1 = %+v, %v; want the archive fetched again, signed", added, err)
	}
}

// TestMistakenSource checks that a signed package of another version is not added.
func TestMistakenSource(t *testing.T) {
	t.Parallel()
	reg, all := manyVersions(2)
	asked, other := all[0].Version, all[1].Version
	for name, as := range map[string]addrs.Version{"another": other, "nothing": {}} {
		src := mistaken{Source: client(reg), As: as}
		for _, platforms := range [][]addrs.Platform{nil, {linux}} {
			m, _ := newMirror(t)
			if got, err := m.Add(t.Context(), src, wants(platforms, asked), mirrordir.Options{}); err == nil {
				t.Errorf("%s: added %v", name, got)
			}
		}
	}
}
