package archive

import (
	"context"
	"errors"
	"os"
)

// ErrAhead: what was unpacked ahead is not what the archive holds by its directory.
var ErrAhead = errors.New("archive: contents and directory differ")

// UnpackRest completes what [UnpackAhead] has begun below root, with the same result as
// [Zip.Unpack]. Each file that was unpacked early must be one of the archive: with the name,
// the place, the sizes and the checksum that the directory gives it. If not, the error is
// ErrAhead, nothing was changed, and root must be emptied for Unpack.
//
// The checksum of the format is easily forged, so this holds only if r gave the bytes of z:
// nothing that was unpacked of another archive may come here.
func (z *Zip) UnpackRest(ctx context.Context, root *os.Root, a *Ahead, o Options) ([]File, error) {
	if !z.agrees(a) {
		return nil, ErrAhead
	}
	t := newTree(ctx, root, o)
	defer t.release()
	t.made = a.tree.made
	return t.settle(z.each(func(m *member) (File, error) {
		if was, ok := a.files[m.Name]; ok {
			return File{Entry: m.Entry, Sum: was.sum}, t.complete(m.Entry)
		}
		return z.unpack(m, t)
	}))
}

// agrees reports whether all that was made ahead is what the directory describes.
func (z *Zip) agrees(a *Ahead) bool {
	found, dirs := 0, map[string]bool{".": true}
	for _, m := range z.members {
		path := m.Name
		if m.IsDir() {
			path = path[:len(path)-1]
			dirs[path] = true
		}
		for path = parent(path); !dirs[path]; path = parent(path) {
			dirs[path] = true
		}
		if f, ok := a.files[m.Name]; ok {
			if !f.is(m) {
				return false
			}
			found++
		}
	}
	for dir := range a.tree.made {
		if !dirs[dir] {
			return false
		}
	}
	return found == len(a.files)
}

// is reports whether m describes the file as it was found.
func (f early) is(m *member) bool {
	return f.start == m.start && f.method == m.method && f.crc == m.crc && f.packed == m.packed && f.Size == m.Size
}

// complete does for a file that is there what is left to be done.
func (t *tree) complete(e Entry) error {
	f, err := t.root.OpenFile(e.Name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := t.confirm(f, e); err != nil {
		return errors.Join(err, f.Close())
	}
	return t.close(f)
}

// confirm makes sure that f still has the size of e, and gives it the mode of e.
func (t *tree) confirm(f *os.File, e Entry) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() != e.Size {
		return bad("entry %.100q has changed since it was unpacked", e.Name)
	}
	if !t.executable(e) {
		return nil
	}
	// Whoever may read it may run it: 0755 less the umask.
	mode := info.Mode().Perm()
	return f.Chmod(mode | mode&0o444>>2)
}
