package dirtest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// wantEntries checks the entries of a directory.
func (r *run) wantEntries(dir string, want ...mirrordir.Entry) {
	want = sorted(want)
	for i := range r.storages {
		got, err := r.storage(i).List(r.ctx, dir)
		got = sorted(got)
		switch {
		case err != nil:
			r.errorf("List(%q) = %v, want %d entries", dir, err, len(want))
		case !slices.Equal(got, want):
			r.errorf("List(%q) = %s", dir, difference(got, want))
		}
	}
}

// difference describes the first difference of two sorted lists.
func difference(got, want []mirrordir.Entry) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	at := func(list []mirrordir.Entry) string {
		if i == len(list) {
			return "missing"
		}
		return fmt.Sprintf("%+v", list[i])
	}
	return fmt.Sprintf("%d entries, want %d; entry %d is %s, want %s", len(got), len(want), i, at(got), at(want))
}

func testList(r *run) {
	for i, name := range []string{
		"home/index.json",
		"home/1.0.0.json",
		"home/1.0.0/linux_amd64/one",
		"home/1.0.0/linux_amd64/two",
		"home/1.0.0/darwin_arm64/one",
		"home/deep/er/still/file",
		// Names that have the name of the directory as a prefix, or are sorted next to it.
		"home-made/file",
		"home.zip",
		"homes/file",
		"hom",
	} {
		if !r.write(r.path(name), text(i, 10*i), "") {
			return
		}
	}
	r.wantEntries(r.path("home"),
		mirrordir.Entry{Name: "index.json"}, mirrordir.Entry{Name: "1.0.0.json", Size: 10},
		mirrordir.Entry{Name: "1.0.0", IsDir: true}, mirrordir.Entry{Name: "deep", IsDir: true})
	r.wantEntries(r.path("home/1.0.0"),
		mirrordir.Entry{Name: "linux_amd64", IsDir: true}, mirrordir.Entry{Name: "darwin_arm64", IsDir: true})
	r.wantEntries(r.path("home/1.0.0/linux_amd64"),
		mirrordir.Entry{Name: "one", Size: 20}, mirrordir.Entry{Name: "two", Size: 30})
	r.wantEntries(r.path("home/deep/er"), mirrordir.Entry{Name: "still", IsDir: true})
	r.wantEntries(r.path("ho"))
	r.wantEntries(r.path("home/none"))
	r.wantEntries(r.dir,
		mirrordir.Entry{Name: "home", IsDir: true}, mirrordir.Entry{Name: "home-made", IsDir: true},
		mirrordir.Entry{Name: "homes", IsDir: true}, mirrordir.Entry{Name: "home.zip", Size: 70},
		mirrordir.Entry{Name: "hom", Size: 90})
	top, err := r.storage(0).List(r.ctx, ".")
	if err != nil || !slices.Contains(top, mirrordir.Entry{Name: r.root, IsDir: true}) {
		r.errorf("List(%q) = %d entries, %v, want the directory %q in it", ".", len(top), err, r.root)
	}
	// Changes are listed at once.
	was := r.want(r.path("home/1.0.0.json"), text(1, 10), "after Write")
	if r.write(r.path("home/1.0.0.json"), "12345", was) && r.write(r.path("home/2.0.0.json"), "1", "") {
		r.wantEntries(r.path("home"),
			mirrordir.Entry{Name: "index.json"}, mirrordir.Entry{Name: "1.0.0.json", Size: 5}, mirrordir.Entry{Name: "2.0.0.json", Size: 1},
			mirrordir.Entry{Name: "1.0.0", IsDir: true}, mirrordir.Entry{Name: "deep", IsDir: true})
	}
}

// manyFiles and manyDirs together exceed the usual page size of object stores, 1000.
const (
	manyFiles = 1005
	manyDirs  = 50
)

func testListMany(r *run) {
	want := make([]mirrordir.Entry, 0, manyFiles+manyDirs)
	var names []string
	for i := range manyFiles {
		name := fmt.Sprintf("file-%d", i)
		want = append(want, mirrordir.Entry{Name: name, Size: 1})
		names = append(names, r.path(name))
	}
	for i := range manyDirs {
		name := fmt.Sprintf("directory-%d", i)
		want = append(want, mirrordir.Entry{Name: name, IsDir: true})
		names = append(names, r.path(path.Join(name, "file")), r.path(path.Join(name, "deep/file")))
	}
	inParallel(len(names), func(i int) {
		if !r.failed() {
			r.write(names[i], "x", "")
		}
	})
	if !r.failed() {
		r.wantEntries(r.dir, want...)
	}
}

func testDelete(r *run) {
	for _, name := range []string{"dir/file", "dir/file2", "dir/fil", "dir2/file", "only/child/file"} {
		if !r.write(r.path(name), name, "") {
			return
		}
	}
	for _, name := range []string{"dir/file", "dir", "only", "only/child/file"} {
		for range 2 {
			if err := r.storage(0).Delete(r.ctx, r.path(name)); err != nil {
				r.errorf("Delete(%q) = %v, want nil", r.path(name), err)
			}
		}
		r.wantMissing(r.path(name), "after Delete,")
	}
	for _, name := range []string{"dir/file2", "dir/fil", "dir2/file"} {
		r.want(r.path(name), name, "after other files were deleted")
	}
	r.wantEntries(r.path("dir"), mirrordir.Entry{Name: "file2", Size: 9}, mirrordir.Entry{Name: "fil", Size: 7})
	r.wantEntries(r.path("only/child"))
	if r.write(r.path("only/child/file"), "again", "") {
		r.wantEntries(r.path("only/child"), mirrordir.Entry{Name: "file", Size: 5})
	}
}

// sorted returns the entries sorted by name.
func sorted(entries []mirrordir.Entry) []mirrordir.Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b mirrordir.Entry) int {
		return strings.Compare(a.Name, b.Name)
	})
}
