"""The cluster manifests say what Ray and KubeRay understand, and run no usage statistics.

They were not run on a cloud: these tests are all that is known of them.
"""

import importlib.util
import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "docs" / "deploy"


@pytest.fixture(scope="module")
def machines():
    return yaml.safe_load((DEPLOY / "ray-cluster.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def kubernetes():
    documents = yaml.safe_load_all((DEPLOY / "raycluster-kubernetes.yaml").read_text("utf-8"))
    return {document["kind"]: document for document in documents}


@pytest.fixture(scope="module")
def cluster(kubernetes):
    return kubernetes["RayCluster"]


@pytest.fixture(scope="module")
def ray_schema():
    found = importlib.util.find_spec("ray")
    if found is None or found.origin is None:
        pytest.skip("Ray is not installed")
    file = Path(found.origin).parent / "autoscaler" / "ray-schema.json"
    return json.loads(file.read_text("utf-8"))


def pods(cluster) -> list[dict]:
    spec = cluster["spec"]
    return [spec["headGroupSpec"], *spec["workerGroupSpecs"]]


class TestMachines:
    def test_rays_own_schema_accepts_it(self, machines, ray_schema):
        jsonschema.Draft7Validator.check_schema(ray_schema)
        jsonschema.Draft7Validator(ray_schema).validate(machines)

    def test_every_ray_process_starts_without_usage_statistics(self, machines):
        keys = ("head_start_ray_commands", "worker_start_ray_commands")
        starts = [one for key in keys for one in machines[key] if "ray start" in one]
        assert len(starts) == 2
        for command in starts:
            assert "RAY_USAGE_STATS_ENABLED=0 ray start" in command
            assert "--disable-usage-stats" in command

    def test_nobody_reaches_the_dashboard_from_elsewhere_or_without_the_token(self, machines):
        head, worker = (
            machines["head_start_ray_commands"][-1],
            machines["worker_start_ray_commands"][-1],
        )
        assert "--dashboard-host=127.0.0.1" in head
        assert all("RAY_AUTH_MODE=token" in command for command in (head, worker))
        assert "/home/ray/.ray/auth_token" in machines["file_mounts"]

    def test_no_lane_runs_beside_the_driver_and_each_has_4_gib(self, machines):
        kinds = machines["available_node_types"]
        assert kinds[machines["head_node_type"]]["resources"]["CPU"] == 0
        resources = kinds["lanes"]["resources"]
        assert resources["memory"] >= resources["CPU"] * (4 << 30)

    def test_all_of_the_packages_is_copied(self, machines):
        """A pattern without a slash in front leaves out what has the name at any depth."""
        left_out = machines["rsync_exclude"]
        assert "/runs" in left_out
        assert all(one.startswith("/") for one in left_out)


class TestKubernetes:
    def test_every_container_runs_without_usage_statistics(self, cluster):
        for group in pods(cluster):
            assert group["rayStartParams"]["disable-usage-stats"] == "true"
            for container in group["template"]["spec"]["containers"]:
                assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container["env"]

    def test_the_dashboard_asks_for_a_token_and_is_not_open_to_the_world(self, cluster):
        assert cluster["spec"]["authOptions"]["mode"] == "token"
        assert cluster["spec"]["headGroupSpec"]["serviceType"] == "ClusterIP"

    def test_no_lane_runs_beside_the_driver_and_each_has_4_gib(self, cluster):
        assert cluster["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
        (lanes,) = cluster["spec"]["workerGroupSpecs"]
        limits = lanes["template"]["spec"]["containers"][0]["resources"]["limits"]
        assert int(limits["memory"].removesuffix("Gi")) >= 4 * int(limits["cpu"])


class TestBoth:
    def test_they_name_one_version_of_ray_that_the_extra_allows(self, machines, cluster):
        from packaging.requirements import Requirement

        version = cluster["spec"]["rayVersion"]
        assert f"ray:{version}-" in machines["docker"]["image"]
        for group in pods(cluster):
            for container in group["template"]["spec"]["containers"]:
                assert container["image"].endswith(f":{version}")
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        extra = map(Requirement, project["optional-dependencies"]["sweep"])
        (ray,) = (one for one in extra if one.name == "ray")
        assert ray.specifier.contains(version)

    def test_the_page_says_that_they_were_not_run(self):
        page = (DEPLOY / "README.md").read_text("utf-8")
        assert "not been run on a cloud" in page
