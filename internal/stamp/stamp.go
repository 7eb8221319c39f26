package stamp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

const (
	// version is the version of the format, and the name of the directory with stamps.
	version = "v1"

	suffix    = ".stamp"
	maxStamps = 4096    // files
	maxStamp  = 4 << 10 // bytes of a file
)

// stamp is a record for other processes. Its file is the JSON, a newline, and the SHA-256 of both in
// hexadecimal, which reveals damage.
type stamp struct {
	// Boot is the ID of the boot. After another one, device numbers can name other devices, and a crash can
	// have kept content without its time.
	Boot string `json:"boot"`

	Path   string        `json:"path"`
	Device uint64        `json:"device"`
	Inode  uint64        `json:"inode"`
	Look   []byte        `json:"look"`
	H1     checksum.Hash `json:"h1"`
	Time   time.Time     `json:"time"`
}

func (s System) boot() (string, error) {
	if s.Boot != nil {
		return s.Boot()
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(id)), err
}

// stampName returns the name of the file for a directory.
func (p place) stampName() string {
	return fmt.Sprintf("%x%s", sha256.Sum256(fmt.Appendf(nil, "%q %d %d", p.path, p.device, p.inode)), suffix)
}

// readStamp returns the record for a directory in the directory of stamps.
func (s System) readStamp(dir string, p place) (r record, err error) {
	boot, err := s.boot()
	if err != nil {
		return r, err
	}
	root, err := fsx.OpenPrivateDir(dir, version)
	if err != nil {
		return r, err
	}
	defer root.Close()
	f, err := fsx.OpenRegularIn(root, p.stampName())
	if err != nil {
		return r, err
	}
	defer f.Close()
	file, err := io.ReadAll(io.LimitReader(f, maxStamp+1))
	if err != nil {
		return r, err
	}
	st, err := parse(file)
	if err != nil {
		return r, err
	}
	if place := (place{st.Path, st.Device, st.Inode}); place != p || st.Boot != boot {
		return r, errors.New("of another directory or another boot")
	}
	copy(r.digest[:], st.Look)
	r.hash, r.at = st.H1, st.Time
	return r, nil
}

// parse parses the file of a stamp.
func parse(file []byte) (st stamp, err error) {
	text, sum := file, []byte(nil)
	if i := bytes.IndexByte(file, '\n') + 1; i > 0 {
		text, sum = file[:i], file[i:]
	}
	switch {
	case len(file) > maxStamp || fmt.Sprintf("%x", sha256.Sum256(text)) != string(sum):
		return st, errors.New("damaged file")
	case json.Unmarshal(text, &st) != nil || st.H1.Scheme() != checksum.SchemeH1:
		return st, errors.New("unknown content")
	}
	return st, nil
}

// writeStamp writes the record for a directory. The file is not synced, because it is void after a crash.
func (s System) writeStamp(ctx context.Context, dir string, p place, r record) error {
	boot, err := s.boot()
	if err != nil {
		return err
	}
	text, err := json.Marshal(stamp{boot, p.path, p.device, p.inode, r.digest[:], r.hash, r.at})
	if err != nil {
		return err
	}
	text = append(text, '\n')
	text = fmt.Appendf(text, "%x", sha256.Sum256(text))
	if len(text) > maxStamp {
		return errors.New("the path is too long")
	}
	root, err := fsx.OpenPrivateDir(dir, version)
	if err != nil {
		return err
	}
	defer root.Close()
	part, err := fsx.CreatePartIn(root, ".", 0o600)
	if err != nil {
		return err
	}
	defer part.Discard()
	if _, err = part.Write(text); err == nil {
		err = part.PublishAs(p.stampName())
	}
	return errors.Join(err, prune(ctx, root))
}

// prune removes the oldest stamps above the limit, and the files of killed processes.
func prune(ctx context.Context, root *os.Root) error {
	fsx.SweepPartsIn(ctx, root, ".")
	names, err := fs.ReadDir(fsx.Tree(ctx, root), ".")
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(d fs.DirEntry) bool { return !strings.HasSuffix(d.Name(), suffix) })
	if len(names) <= maxStamps {
		return nil
	}
	var files []fs.FileInfo
	for _, d := range names {
		if info, err := d.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files[:max(0, len(files)-maxStamps*7/8)] {
		if err := root.Remove(info.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	return nil
}
