// Package login gets the API token of a host by a browser login, as "tofu login" does. It is meant for 1.0.
//
//	client := &login.Client{
//		Store: auth.CredentialsFile{Path: path},
//		Open:  func(url string) error { _, err := fmt.Println("Please visit", url); return err },
//	}
//	result, err := client.Login(ctx, svchost.MustParse("registry.example.com"))
//
// The protocol is https://opentofu.org/docs/internals/login-protocol/. Both URLs of the service must be https,
// also with AllowHTTP. The request for the token follows no redirects, is not repeated, and takes at most 30
// seconds. Errors and logs contain no secrets.
//
// [github.com/tofureg/tofureg/cliconfig.Config.Store] returns the store of the CLI.
package login
