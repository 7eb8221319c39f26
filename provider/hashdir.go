package provider

import (
	"context"
	"os"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
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
	h1, err := checksum.H1Dir(ctx, fsx.Tree(ctx, root))
	if err != nil {
		return nil, err
	}
	return h.Policy.Judge(pkg.Evidence(), -1, []checksum.Hash{h1})
}
