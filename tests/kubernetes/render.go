// SPDX-License-Identifier: GPL-2.0-or-later

// render CHART [VALUES [API...]]: prints the objects of a Helm chart, as `helm template leakmon CHART -n leakmon`
// does: Go's templates with sprig's functions and those three of helm's own that our chart uses. VALUES is
// a JSON object that goes over the chart's values, as from --set-json; further words are API versions that
// the cluster has, as from --api-versions.
package main

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

func check(err error) {
	if err != nil {
		log.Fatal("render: ", err)
	}
}

func readYAML(path string) map[string]interface{} {
	data, err := os.ReadFile(path)
	check(err)
	values := map[string]interface{}{}
	check(yaml.Unmarshal(data, &values))
	return values
}

// Files of the chart, and versions of the API: what templates ask of helm by methods.
type files string

func (chart files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(string(chart), name))
	check(err)
	return string(text)
}

type versions []string

func (all versions) Has(wanted string) bool {
	for _, version := range all {
		if version == wanted {
			return true
		}
	}
	return false
}

// A table over another one, in depth.
func merge(under, over map[string]interface{}) {
	for key, value := range over {
		below, isTable := under[key].(map[string]interface{})
		above, areBoth := value.(map[string]interface{})
		if isTable && areBoth {
			merge(below, above)
		} else {
			under[key] = value
		}
	}
}

func functions(all *template.Template) template.FuncMap {
	table := sprig.TxtFuncMap()
	delete(table, "env") // as helm does
	delete(table, "expandenv")
	table["toYaml"] = func(value interface{}) string {
		data, err := yaml.Marshal(value)
		check(err)
		return strings.TrimSuffix(string(data), "\n")
	}
	table["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	return table
}

func main() {
	log.SetFlags(0)
	chart := os.Args[1]
	about := readYAML(filepath.Join(chart, "Chart.yaml"))
	values := readYAML(filepath.Join(chart, "values.yaml"))
	if len(os.Args) > 2 {
		over := map[string]interface{}{}
		check(json.Unmarshal([]byte(os.Args[2]), &over))
		merge(values, over)
	}
	apis := versions{}
	if len(os.Args) > 3 {
		apis = os.Args[3:]
	}
	data := map[string]interface{}{
		"Files":        files(chart),
		"Capabilities": map[string]interface{}{"APIVersions": apis},
		"Values": values,
		"Release": map[string]interface{}{
			"Name": "leakmon", "Namespace": "leakmon", "Service": "Helm"},
		"Chart": map[string]interface{}{
			"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
	}
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	check(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(err)
		_, err = all.New(path).Parse(string(text))
		check(err)
	}
	for _, path := range paths {
		if filepath.Ext(path) != ".yaml" {
			if filepath.Base(path) == "NOTES.txt" {
				check(all.ExecuteTemplate(os.Stderr, path, data))
			}
			continue
		}
		os.Stdout.WriteString("---\n")
		check(all.ExecuteTemplate(os.Stdout, path, data))
	}
}
