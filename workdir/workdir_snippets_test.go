package workdir_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/workdir"
)

func prepareDirectory(ctx context.Context, config *cliconfig.Config, path string) error {
	dir := workdir.New(config, path)
	result, err := dir.Prepare(ctx)
	for _, m := range result.Modules {
		fmt.Println(m.Key, m.Source, m.Version, m.Dir)
	}
	for _, warning := range result.Warnings {
		fmt.Println("warning:", warning)
	}
	return err
}

func withProgress(dir *workdir.Dir, draw func(progress.Event)) {
	dir.Modules.Progress, dir.Installer.Progress = draw, draw
}

func writeRequirements(ctx context.Context, path string, w io.Writer) error {
	read, err := (&workdir.Dir{Path: path}).Read(ctx)
	if read != nil { // also beside an error
		err = errors.Join(err, json.NewEncoder(w).Encode(read))
	}
	return err
}
