package oci_test

import (
	"context"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/contrib/oci"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/verify"
)

func fillOCIMirror(ctx context.Context, config *cliconfig.Config, mirror *mirrordir.Mirror) error {
	repository, err := oci.Template("oci.example.com/mirror/{namespace}/{type}")
	if err != nil {
		return err
	}
	client := oci.Configure(config)                                                  // the credentials of the CLI configuration
	options := provider.DownloadOptions{Policy: verify.Policy{AllowUnchecked: true}} // the mirror is trusted
	for want, err := range mirror.All(ctx) {
		if err != nil {
			return err
		}
		_, err = client.PushProvider(ctx, repository(want.Provider), mirror, want.Provider, want.Version, want.Platforms, options)
		if err != nil {
			return err
		}
	}
	return nil
}
