"""What the machine has left, as the system says it."""

from pathlib import Path

from quipukit.experiment.cost.machine import free_disk, free_memory, same_disk


def written(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def test_memory_is_that_of_the_machine_or_of_a_smaller_container(tmp_path: Path) -> None:
    system = tmp_path / "meminfo"
    system.write_text("MemTotal:       2000 kB\nMemAvailable:    1000 kB\n")
    assert free_memory(tmp_path / "none", system) == 1_024_000
    stat = "anon 5\ninactive_file 50\n"
    small = written(tmp_path / "small", memory_max="1000\n", memory_current="700\n", memory_stat=stat)
    assert free_memory(small, system) == 350  # what is only cached can be dropped
    unlimited = written(tmp_path / "unlimited", memory_max="max\n", memory_current="700\n", memory_stat=stat)
    assert free_memory(unlimited, system) == 1_024_000
    assert free_memory(tmp_path / "none", tmp_path / "neither") is None
    assert (free_memory() or 1) > 0


def test_room_is_that_of_the_nearest_folder_that_exists(tmp_path: Path) -> None:
    assert free_disk(tmp_path / "not" / "yet" / "there") > 0
    assert same_disk(tmp_path / "not" / "yet", tmp_path)
    assert not same_disk(tmp_path, Path("/proc"))
