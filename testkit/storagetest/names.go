package storagetest

import (
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/storage"
)

// plainNames returns names that a Storage must support.
func plainNames() []string {
	return []string{
		"registry.example.com/acme/alpha/index.json",
		"registry.example.com/acme/alpha/1.0.0-rc.1+build.7.json",
		"registry.example.com/acme/alpha/terraform-provider-alpha_1.0.0+build_linux_amd64.zip",
		"registry.example.com/acme/alpha/terraform-provider-alpha_1.0.0+build_linux_amd64.record.json",
		"xn--bcher-kva.example/acme/alpha/index.json",
		"registry.example.com/a/b/.hidden",
		"registry.example.com/a/b/two..dots",
	}
}

// oddNames returns names that a Storage may refuse.
func oddNames() []string {
	return []string{
		"bücher.example/acme/alpha/index.json",
		"例え.テスト/acme/alpha/index.json",
		"registry.example.com:8443/acme/alpha/index.json",
		"bücher.example:8443/acme/alpha/index.json",
		"registry.example.com/a/b/a b",
		"registry.example.com/a/b/a+b",
		"registry.example.com/a/b/a%20b",
		"registry.example.com/a/b/a%2Bb",
		"registry.example.com/a/b/c/d",
		"registry.example.com/a/b/c%2Fd",
		"registry.example.com/a/b/#?&=;,@!$'()[]{}^~`",
		"registry.example.com/a/b/" + strings.Repeat("long", 50),
	}
}

// testNames checks that different names are different files, and listed as they were written.
func testNames(r *run) {
	plain := plainNames()
	var names []string
	for i, short := range slices.Concat(plain, oddNames()) {
		name := r.path(short)
		err := r.tryWrite(r.ctx, r.storage(0), name, section(name), "")
		switch {
		case err == nil:
			names = append(names, name)
		case i < len(plain):
			r.errorf("Write(%q) = %v, want nil: a mirror needs such names", name, err)
		default:
			if o, err := r.storage(0).Open(r.ctx, name); err == nil {
				o.Close()
				r.errorf("Open(%q) succeeds after a failed Write", name)
			}
		}
	}
	for _, name := range names {
		r.want(name, name, "after Write")
		r.wantListed(name)
	}
	for _, name := range names {
		if err := r.storage(0).Delete(r.ctx, name); err != nil {
			r.errorf("Delete(%q) = %v", name, err)
		}
		r.wantMissing(name, "after Delete,")
	}
}

// wantListed checks that a file and its directories are listed.
func (r *run) wantListed(name string) {
	for i := range r.storages {
		want := storage.Entry{Name: path.Base(name), Size: int64(len(name))}
		for dir := path.Dir(name); ; dir = path.Dir(dir) {
			entries, err := r.storage(i).List(r.ctx, dir)
			if err != nil || !slices.Contains(entries, want) {
				r.errorf("List(%q) = %d entries, %v, want %+v in it", dir, len(entries), err, want)
				break
			}
			if dir == "." {
				break
			}
			want = storage.Entry{Name: path.Base(dir), IsDir: true}
		}
	}
}

// testInvalidNames checks that invalid names are refused.
func testInvalidNames(r *run) {
	file := r.path("directory/file")
	if !r.write(file, "x", "") {
		return
	}
	for _, name := range []string{
		"", ".", "..", "/", "../" + r.root,
		"/" + file, "./" + file, file + "/", file + "/.", r.path("directory") + "//file",
		r.path("directory") + "/../directory/file", r.path("directory") + "/\xff",
	} {
		if o, err := r.storage(0).Open(r.ctx, name); err == nil {
			o.Close()
			r.errorf("Open(%q) succeeds, want an error: the name is invalid", name)
		}
		if err := r.storage(0).Write(r.ctx, name, section("y"), ""); err == nil {
			r.errorf("Write(%q) succeeds, want an error: the name is invalid", name)
		}
		_ = r.storage(0).Delete(r.ctx, name) // may return an error, must have no effect
	}
	r.want(file, "x", "after calls with invalid names")
}
