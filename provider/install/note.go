package install

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// note tells waiting processes about the package that a process has installed. The directory does
// not tell the hashes of its archive, so without a note each of them would download the archive.
//
// The hashes get into reports and lock files. So a process trusts a note only if it was written
// after the call began, and only if the file belongs to the same user and other users cannot open
// it. Where the file mode does not tell this, as on Windows, notes are ignored.
//
// Three things remember facts about an installed package, because each has another fact and other
// believers. A note says which archive became the directory: a statement of its writer, believed during
// one call, by processes of the user that waited for the writer. The memory of a [Dir] says which h1 the
// files have: this process hashed them and believes itself while no file changes, whatever the policy. A
// stamp says the same to later processes of the user, for a week: they believe what they have not
// computed, so only a policy can permit it. A note replaces neither, since it counts only beside an h1 of
// the directory that equals its Tree, and neither replaces a note, since an h1 does not tell the zh.
type note struct {
	Package          string        `json:"package"` // HOST/NAMESPACE/TYPE/VERSION/OS_ARCH
	checksum.Digests               // of the archive, with its h1
	Tree             checksum.Hash `json:"tree"` // the h1 of the directory
	Once             string        `json:"once"` // random, so that two notes always differ
}

const maxNote = 4 << 10

func (at *location) noteName() string {
	sum := sha256.Sum256([]byte(at.name))
	return private + "/notes/" + hex.EncodeToString(sum[:16])
}

// readNote returns the content of the note, or nil if there is no note of this user.
func (at *location) readNote() []byte {
	named, err := at.root.Lstat(at.noteName())
	if err != nil {
		return nil
	}
	f, err := fsx.OpenRegularIn(at.root, at.noteName())
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !os.SameFile(named, info) || !onlyOurs(info) {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(f, maxNote))
	return data
}

// noteSince returns the note if it differs from before, otherwise nil.
func (at *location) noteSince(before []byte) *note {
	data := at.readNote()
	if len(data) == 0 || bytes.Equal(data, before) {
		return nil
	}
	var n *note
	if json.Unmarshal(data, &n) != nil || n == nil || n.Package != at.name || n.Size <= 0 ||
		n.ZH().IsZero() || n.Tree.Scheme() != checksum.SchemeH1 || !slices.Contains(n.Hashes, n.Tree) {
		return nil
	}
	return n
}

// writeNote writes a note for processes that wait for the lock. It replaces a file or link at its
// name. The file is not synced, since nothing waits after a crash.
func (at *location) writeNote(part *fsx.PartDir, n note) error {
	n.Package, n.Once = at.name, rand.Text()
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := mkdir(at.root, private+"/notes"); err != nil {
		return err
	}
	made := filepath.Join(part.Name(), "note")
	f, err := at.root.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return at.root.Rename(made, at.noteName())
}
