package archive

import (
	"context"
	"errors"
	"os"

	"github.com/tofureg/tofureg/internal/fault"
)

// ErrAhead: the unpacked files differ from the directory of the archive.
var ErrAhead = errors.New("archive: contents and directory differ")

// UnpackRest completes the work of [UnpackAhead] below root, with the same result as [Zip.Unpack].
// The name, offset, sizes and checksum of each unpacked file must agree with the directory. If not,
// the error is ErrAhead, nothing was changed, and the caller must empty root and call Unpack.
//
// CRC-32 is easily forged. So UnpackAhead must have read the bytes of z and not another archive.
func (z *Zip) UnpackRest(ctx context.Context, root *os.Root, a *Ahead, o Options) ([]File, error) {
	if !z.matches(a) {
		return nil, ErrAhead
	}
	t := newTree(ctx, root, o)
	defer t.release()
	t.made = a.tree.made
	return t.waitForSyncs(z.each(func(m *member) (File, error) {
		if was, ok := a.files[m.Name]; ok {
			return File{Entry: m.Entry, Sum: was.sum}, t.complete(m.Entry)
		}
		return z.unpack(m, t)
	}))
}

// matches reports whether the directory describes all unpacked files and directories.
func (z *Zip) matches(a *Ahead) bool {
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
			if !f.matches(m) {
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

// matches reports whether m describes f.
func (f aheadFile) matches(m *member) bool {
	return f.start == m.start && f.method == m.method && f.crc == m.crc && f.packed == m.packed && f.Size == m.Size
}

// complete checks, completes and closes an unpacked file.
func (t *tree) complete(e Entry) error {
	if t.ctx.Err() != nil {
		return fault.Ended(t.ctx)
	}
	f, err := t.root.OpenFile(e.Name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := t.confirm(f, e); err != nil {
		return errors.Join(err, f.Close())
	}
	return t.close(f)
}

// confirm checks that f still has the size of e, and sets its mode.
func (t *tree) confirm(f *os.File, e Entry) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() != e.Size {
		return bad("entry %.100q was changed after it was unpacked", e.Name)
	}
	if !t.executable(e) {
		return nil
	}
	// 0755 less the umask.
	mode := info.Mode().Perm()
	return f.Chmod(mode | mode&0o444>>2)
}
