package workdir_test

import (
	"context"
	"fmt"

	"github.com/tofureg/tofureg/cliconfig"
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
