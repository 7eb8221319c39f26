package mirrordir_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
)

// TestRecordIsNoArchive: no program that looks for archives in one of the usual ways takes a record for one, and
// each archive has its own record.
func TestRecordIsNoArchive(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, archive := range []string{
		home + "/terraform-provider-alpha_1.0.0_linux_amd64.zip", home + "/terraform-provider-alpha_1.0.0-rc.1+build.5_linux_amd64.zip",
		home + "/terraform-provider-alpha_v1.0.0_linux_amd64.zip", home + "/Terraform-Provider-Alpha_1.0.0_Linux_AMD64.zip",
		home + "/terraform-provider-alpha_1.0.0_linux_amd64.ZIP", "a/b_c/d/terraform-provider-d_1.0.0_linux_amd64.zip",
	} {
		record := mirrordir.RecordName(archive)
		name := path.Base(record)
		if path.Dir(record) != path.Dir(archive) {
			t.Errorf("the record of %s is %s, want it beside the archive", archive, record)
		}
		if of, ok := mirrordir.RecordedArchive(record); !ok || of != archive || seen[record] != "" {
			t.Errorf("the record %s of %s is that of %q (%t) and %q", record, archive, of, ok, seen[record])
		}
		if of, ok := mirrordir.RecordedArchive(archive + ".record.json"); !ok || of != archive {
			t.Errorf("the former record of %s is that of %q (%t)", archive, of, ok)
		}
		if of, ok := mirrordir.RecordedArchive(archive); ok {
			t.Errorf("the archive %s is taken for a record of %s", archive, of)
		}
		seen[record] = archive
		if v, _, problem := provider.ParseArchiveName(alpha, name); !v.IsZero() || problem != "" {
			t.Errorf("ParseArchiveName(%s) = %s, %q; want nothing", name, v, problem)
		}
		for how, is := range map[string]bool{
			"its first word":           strings.HasPrefix(strings.ToLower(name), "terraform-provider-"),
			"its suffix":               strings.HasSuffix(name, ".zip"),
			".zip in it":               strings.Contains(name, ".zip"),
			"four parts of it":         len(strings.Split(strings.TrimSuffix(strings.TrimPrefix(name, "terraform-provider-"), ".zip"), "_")) == 4,
			"the name of a document":   name == "index.json",
			"the version of a package": strings.Count(name, "_") == 0,
		} {
			if is {
				t.Errorf("a program takes %s for an archive or a document by %s", name, how)
			}
		}
	}
}

// former gives all records of a store the names that earlier versions gave them.
func former(t *testing.T, s storage.Store) {
	t.Helper()
	for _, e := range must.Get(s.List(t.Context(), home))(t) {
		archive, ok := mirrordir.RecordedArchive(home + "/" + e.Name)
		if !ok {
			continue
		}
		move(t, s, home+"/"+e.Name, archive+".record.json")
	}
}

// move renames a file of a store.
func move(t *testing.T, s storage.Store, from, to string) {
	t.Helper()
	put(t, s, to, content(t, s, from))
	must.Do(t, s.Delete(t.Context(), from, ""))
}

// recordNames returns the names of the records in a store, without the directory.
func recordNames(t *testing.T, s storage.Store) (list []string) {
	t.Helper()
	for _, e := range must.Get(s.List(t.Context(), home))(t) {
		if _, ok := mirrordir.RecordedArchive(e.Name); ok {
			list = append(list, e.Name)
		}
	}
	slices.Sort(list)
	return list
}

// TestFormerRecords: records with the former names are read, changed and removed as records of today, in a
// directory and in a bucket.
func TestFormerRecords(t *testing.T) {
	t.Parallel()
	both := func(t *testing.T, test func(t *testing.T, m *mirrordir.Mirror)) {
		for name, s := range map[string]storage.Store{"directory": &storage.Dir{Path: t.TempDir()}, "bucket": &bucket{}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				reg, _ := newRegistry(t)
				m := &mirrordir.Mirror{Store: s, TempDir: t.TempDir()}
				mustAdd(t, m, client(reg), wants(three, v1, v2), mirrordir.AddOptions{})
				former(t, s)
				test(t, m)
			})
		}
	}
	today := func(t *testing.T, m *mirrordir.Mirror, want bool) {
		t.Helper()
		for _, name := range recordNames(t, m.Store) {
			if strings.HasPrefix(name, "record_") != want {
				t.Errorf("the mirror has the record %s, want names of today: %t", name, want)
			}
		}
	}
	t.Run("read", func(t *testing.T) {
		t.Parallel()
		both(t, func(t *testing.T, m *mirrordir.Mirror) {
			pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
			report := must.Get(provider.Download(t.Context(), m, pkg, t.TempDir()+"/a.zip", provider.DownloadOptions{}))(t)
			if report.Trust != verify.Signed {
				t.Errorf("the package is %v, want signed", report.Trust)
			}
			if pkg := must.Get(m.RecordedPackage(t.Context(), alpha, v1, linux, verify.Policy{}))(t); pkg == nil {
				t.Error("RecordedPackage returns nil, want the package")
			}
			if r := mustCheck(t, m, mirrordir.CheckOptions{}); !r.OK() || len(r.Notes) > 0 {
				t.Errorf("Check: %v, %v; want nothing", r.Problems, r.Notes)
			}
			reg, _ := newRegistry(t)
			if n := mustAdd(t, m, client(reg), wants(three, v1, v2), mirrordir.AddOptions{}); n != 0 {
				t.Errorf("Add fetched %d archives, want all kept", n)
			}
			today(t, m, false)
		})
	})
	t.Run("reindexed", func(t *testing.T) {
		t.Parallel()
		both(t, func(t *testing.T, m *mirrordir.Mirror) {
			before := len(recordNames(t, m.Store))
			must.Get(m.Reindex(t.Context(), mirrordir.CheckOptions{}))(t)
			if n := len(recordNames(t, m.Store)); n != before {
				t.Errorf("%d records, want %d", n, before)
			}
			today(t, m, true)
			if r := mustCheck(t, m, mirrordir.CheckOptions{}); !r.OK() || len(r.Notes) > 0 {
				t.Errorf("Check: %v, %v; want nothing", r.Problems, r.Notes)
			}
		})
	})
	t.Run("replaced", func(t *testing.T) {
		t.Parallel()
		both(t, func(t *testing.T, m *mirrordir.Mirror) {
			put(t, m.Store, archive(v1, linux), "damaged")
			reg, _ := newRegistry(t)
			mustAdd(t, m, client(reg), wants(three, v1), mirrordir.AddOptions{})
			if r := mustCheck(t, m, mirrordir.CheckOptions{}); !r.OK() || len(r.Notes) > 0 {
				t.Errorf("Check: %v, %v; want nothing", r.Problems, r.Notes)
			}
			names := recordNames(t, m.Store)
			if name := path.Base(recordOf(v1, linux)); !slices.Contains(names, name) || slices.Contains(names, path.Base(archive(v1, linux))+".record.json") {
				t.Errorf("the mirror has the records %q, want %s without its former name", names, name)
			}
		})
	})
	t.Run("removed", func(t *testing.T) {
		t.Parallel()
		both(t, func(t *testing.T, m *mirrordir.Mirror) {
			// A process that ended between the two names has left both.
			put(t, m.Store, recordOf(v1, linux), content(t, m.Store, archive(v1, linux)+".record.json"))
			must.Do(t, m.Remove(t.Context(), alpha))
			if left := must.Get(m.Store.List(t.Context(), home))(t); len(left) > 0 {
				t.Errorf("after Remove the mirror has %v, want nothing", left)
			}
		})
	})
	t.Run("superseded", func(t *testing.T) {
		t.Parallel()
		both(t, func(t *testing.T, m *mirrordir.Mirror) {
			was := archive(v1, linux) + ".record.json"
			put(t, m.Store, recordOf(v1, linux), content(t, m.Store, was))
			put(t, m.Store, was, `{"size": 1}`) // nothing reads it any more
			r := mustCheck(t, m, mirrordir.CheckOptions{})
			if len(r.Notes) != 1 || r.Notes[0].Kind != "leftover" || r.Notes[0].Name != was || !r.OK() {
				t.Errorf("Check: %v, %v; want the leftover %s", r.Problems, r.Notes, was)
			}
			must.Get(m.Reindex(t.Context(), mirrordir.CheckOptions{}))(t)
			today(t, m, true)
		})
	})
	t.Run("tombstone", func(t *testing.T) {
		t.Parallel()
		both(t, func(t *testing.T, m *mirrordir.Mirror) {
			put(t, m.Store, archive(v1, linux)+".record.json", `{"removed": "x"}`)
			reg, _ := newRegistry(t)
			mustAdd(t, m, client(reg), wants(three, v1), mirrordir.AddOptions{})
			if pkg := must.Get(m.RecordedPackage(t.Context(), alpha, v1, linux, verify.Policy{}))(t); pkg == nil {
				t.Error("the package was not added beside a tombstone with the former name")
			}
			put(t, m.Store, archive(v2, linux)+".record.json", `{"removed": "x"}`)
			must.Get(m.Reindex(t.Context(), mirrordir.CheckOptions{}))(t)
			if r := mustCheck(t, m, mirrordir.CheckOptions{}); !r.OK() || len(r.Notes) > 0 {
				t.Errorf("Check: %v, %v; want nothing", r.Problems, r.Notes)
			}
			for _, e := range must.Get(m.Store.List(t.Context(), home))(t) {
				if e.Name == path.Base(archive(v2, linux)) {
					t.Errorf("Reindex left %s, which was being removed", e.Name)
				}
			}
		})
	})
}
