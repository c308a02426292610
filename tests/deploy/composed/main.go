// Command composed prints what Compose and kustomize make of our files, by their own libraries:
//
//	composed compose FILE [NAME=VALUE ...]    the project as JSON, every profile
//	composed kustomize FOLDER                 the objects as YAML
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func compose(file string, environment []string) ([]byte, error) {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithEnv(environment), cli.WithProfiles([]string{"*"}))
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	return json.Marshal(project)
}

func kustomize(folder string) ([]byte, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	return built.AsYaml()
}

func main() {
	var out []byte
	var err error
	switch {
	case len(os.Args) >= 3 && os.Args[1] == "compose":
		out, err = compose(os.Args[2], os.Args[3:])
	case len(os.Args) == 3 && os.Args[1] == "kustomize":
		out, err = kustomize(os.Args[2])
	default:
		err = fmt.Errorf("usage: composed compose FILE [NAME=VALUE ...] | kustomize FOLDER")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdout.Write(out)
}
