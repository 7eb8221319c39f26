package storagetest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/storage"
)

// wantEntries checks the entries of a directory.
func (r *run) wantEntries(dir string, want ...storage.Entry) {
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
func difference(got, want []storage.Entry) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	at := func(list []storage.Entry) string {
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
		storage.Entry{Name: "index.json"}, storage.Entry{Name: "1.0.0.json", Size: 10},
		storage.Entry{Name: "1.0.0", IsDir: true}, storage.Entry{Name: "deep", IsDir: true})
	r.wantEntries(r.path("home/1.0.0"),
		storage.Entry{Name: "linux_amd64", IsDir: true}, storage.Entry{Name: "darwin_arm64", IsDir: true})
	r.wantEntries(r.path("home/1.0.0/linux_amd64"),
		storage.Entry{Name: "one", Size: 20}, storage.Entry{Name: "two", Size: 30})
	r.wantEntries(r.path("home/deep/er"), storage.Entry{Name: "still", IsDir: true})
	r.wantEntries(r.path("ho"))
	r.wantEntries(r.path("home/none"))
	r.wantEntries(r.dir,
		storage.Entry{Name: "home", IsDir: true}, storage.Entry{Name: "home-made", IsDir: true},
		storage.Entry{Name: "homes", IsDir: true}, storage.Entry{Name: "home.zip", Size: 70},
		storage.Entry{Name: "hom", Size: 90})
	top, err := r.storage(0).List(r.ctx, ".")
	if err != nil || !slices.Contains(top, storage.Entry{Name: r.root, IsDir: true}) {
		r.errorf("List(%q) = %d entries, %v, want the directory %q in it", ".", len(top), err, r.root)
	}
	// Changes are listed at once.
	was := r.want(r.path("home/1.0.0.json"), text(1, 10), "after Write")
	if r.write(r.path("home/1.0.0.json"), "12345", was) && r.write(r.path("home/2.0.0.json"), "1", "") {
		r.wantEntries(r.path("home"),
			storage.Entry{Name: "index.json"}, storage.Entry{Name: "1.0.0.json", Size: 5}, storage.Entry{Name: "2.0.0.json", Size: 1},
			storage.Entry{Name: "1.0.0", IsDir: true}, storage.Entry{Name: "deep", IsDir: true})
	}
}

// manyFiles and manyDirs together exceed the usual page size of object stores, 1000.
const (
	manyFiles = 1005
	manyDirs  = 50
)

func testListMany(r *run) {
	want := make([]storage.Entry, 0, manyFiles+manyDirs)
	var names []string
	for i := range manyFiles {
		name := fmt.Sprintf("file-%d", i)
		want = append(want, storage.Entry{Name: name, Size: 1})
		names = append(names, r.path(name))
	}
	for i := range manyDirs {
		name := fmt.Sprintf("directory-%d", i)
		want = append(want, storage.Entry{Name: name, IsDir: true})
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
	r.wantEntries(r.path("dir"), storage.Entry{Name: "file2", Size: 9}, storage.Entry{Name: "fil", Size: 7})
	r.wantEntries(r.path("only/child"))
	if r.write(r.path("only/child/file"), "again", "") {
		r.wantEntries(r.path("only/child"), storage.Entry{Name: "file", Size: 5})
	}
}

// testStat checks that Stat and Open agree.
func testStat(r *run) {
	name, was := r.path("file.json"), storage.Revision("")
	for i := range r.storages {
		if _, err := r.storage(i).Stat(r.ctx, name); !errors.Is(err, fs.ErrNotExist) {
			r.errorf("Stat(%q) of a missing file = %v, want an error that wraps fs.ErrNotExist", name, err)
		}
	}
	for i, size := range []int{0, 10, 10, 3000, 1<<20 + 1} {
		if !r.write(name, text(i, size), was) {
			return
		}
		was = r.want(name, text(i, size), "after Write")
		for k := range r.storages {
			info, err := r.storage(k).Stat(r.ctx, name)
			if want := (storage.Info{Size: int64(size), Revision: was}); err != nil || info != want {
				r.errorf("Stat(%q) = %+v, %v, want %+v like Open", name, info, err, want)
			}
		}
	}
	if _, err := r.storage(0).Stat(r.ctx, r.dir); !errors.Is(err, fs.ErrNotExist) {
		r.errorf("Stat(%q) of a directory = %v, want an error that wraps fs.ErrNotExist", r.dir, err)
	}
}

// sorted returns the entries sorted by name.
func sorted(entries []storage.Entry) []storage.Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b storage.Entry) int {
		return strings.Compare(a.Name, b.Name)
	})
}
