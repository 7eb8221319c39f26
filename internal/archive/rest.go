package archive

import (
	"archive/zip"
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
	files := make([]File, 0, len(z.entries))
	for i, e := range z.entries {
		var f File
		var err error
		if was, ok := a.files[e.Name]; ok {
			f, err = File{Entry: e, Sum: was.sum}, t.complete(e)
		} else {
			f, err = z.unpack(i, t)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// agrees reports whether all that was made ahead is what the directory describes.
func (z *Zip) agrees(a *Ahead) bool {
	found, dirs := 0, map[string]bool{".": true}
	for i, e := range z.entries {
		path := e.Name
		if e.IsDir() {
			path = path[:len(path)-1]
			dirs[path] = true
		}
		for path = parent(path); !dirs[path]; path = parent(path) {
			dirs[path] = true
		}
		if f, ok := a.files[e.Name]; ok {
			if !f.is(z.files[i]) {
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

// is reports whether the directory describes the file as it was found.
func (f early) is(d *zip.File) bool {
	offset, err := d.DataOffset()
	return err == nil && offset == f.offset && d.Method == f.method && d.CRC32 == f.crc &&
		d.CompressedSize64 == uint64(f.packed) && d.UncompressedSize64 == uint64(f.size)
}

// complete does for a file that is there what is left to be done.
func (t *tree) complete(e Entry) error {
	f, err := t.root.OpenFile(e.Name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() != e.Size {
		return bad("entry %.100q has changed since it was unpacked", e.Name)
	}
	if e.Exec {
		// Whoever may read it may run it: 0755 less the umask.
		mode := info.Mode().Perm()
		if err := f.Chmod(mode | mode&0o444>>2); err != nil {
			return err
		}
	}
	if t.sync {
		return f.Sync()
	}
	return nil
}
