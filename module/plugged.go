package module

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// plugged has the caller's fetcher do the work, and makes a package of what it brings by
// the same rules as of any other directory.
func (j *job) plugged(ctx context.Context, loc *Location) (*pack, error) {
	path := j.stage.path("fetched")
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(path)
	given := *loc
	given.Subdir = ""
	if err := j.o.Fetcher.FetchModule(ctx, &given, path); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%w: the fetcher left no directory", ErrArchive), err)
	}
	return j.copyTree(ctx, path)
}
