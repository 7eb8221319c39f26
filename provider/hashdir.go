package provider

import (
	"context"
	"io/fs"
	"os"

	"github.com/tofureg/tofureg/verify"
)

// directory hashes a package that is unpacked.
func (h *hashing) directory(ctx context.Context, pkg *Package) (*verify.Report, error) {
	leave, err := h.Gate.compute(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	root, err := os.OpenRoot(pkg.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	h1, err := verify.H1Dir(interruptibleFS{ctx, root.FS()})
	if err != nil {
		return nil, err
	}
	return h.Policy.Judge(pkg.Evidence(), -1, []verify.Hash{h1})
}

// interruptibleFS is a directory that can be read as long as ctx has not ended.
type interruptibleFS struct {
	ctx context.Context
	fs  fs.FS
}

func (i interruptibleFS) Open(name string) (fs.File, error) {
	if err := i.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := i.fs.Open(name)
	if err != nil {
		return nil, err
	}
	if dir, ok := f.(fs.ReadDirFile); ok {
		return interruptibleFile{dir, i.ctx}, nil
	}
	return f, nil
}

type interruptibleFile struct {
	fs.ReadDirFile
	ctx context.Context
}

func (f interruptibleFile) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.ReadDirFile.Read(p)
}
